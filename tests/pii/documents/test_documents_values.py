"""What the checks take for somebody's value and what not (G12), by numbers worked out by hand."""

from __future__ import annotations

import re

import pytest

from sm_ops.pii.documents.checks import values
from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.values.numbers import Numbers, fullwidth, respelled, wrapped

pytestmark = pytest.mark.unit

# 850101-300000?: 8*2+5*3+0*4+1*5+0*6+1*7+3*8 = 67, 67 mod 11 = 1, so 0 is right for residents and 2 for foreigners.
RRN = {
    "850101-3000001": True,
    "850101-3000003": True,
    "8501013000009": True,
    "850101 3000001": True,
    "８５０１０１－３０００００１": True,
    "850101ㅡ3000001": True,
    "850101-\r\n3000001": True,
    "850101-3000000": False,  # right for a resident
    "850101-3000002": False,  # right for a foreigner
    "850101-1000001": False,  # born 1985
    "590101-3000001": False,  # born 2059
    "850230-3000001": False,  # no such day
    "851301-3000001": False,  # no such month
    "850101-300000": False,
    "850101x3000001": False,
}
CARD = {
    "4111-1111-1111-1112": True,
    "4111 1111 1111 1119": True,
    "4111-1111-1111-1111": False,  # the well-known test number passes Luhn's formula
    "3782-822463-10005": False,  # fifteen digits that pass
    "3782-822463-10006": True,
    "4111-1111-1111": False,
}
PHONE = {
    "010-0123-4567": True,
    "010-1999-9999": True,
    "01001234567": True,
    "+82 10-0123-4567": True,
    "010-2000-0000": False,
    "010-9123-4567": False,
    "02-012-3456": True,
    "02)1999-0000": True,
    "(031) 199-0000": True,
    "02-2345-6789": False,
    "031-300-0000": False,
    "(212) 555-0123": True,
    "+1 212-555-0199": True,
    "212-555-0200": False,
    "212-554-0123": False,
    "07700 900123": True,
    "+44 20 7946 0123": True,
    "07700 901123": False,
    "1588-0000": False,
}
EMAIL = {
    "ga.sang@example.com": True,
    "a_b-1@post.example.net": True,
    "a@gasang.example": True,
    "a@mail.siheom.test": True,
    "a@example.co.kr": False,
    "a@gmail.com": False,
    "a@notexample.com": False,
    "example.com": False,
}
ACCOUNT = {"000-12-345678": True, "0001-22-3334444": True, "000123-45-678901": True, "001-12-345678": False}
DOB = {
    "1985-03-12": True,
    "1985.3.12.": True,
    "1985. 3. 12.": True,
    "85년 3월 12일": True,
    "음력 1985년 3월 12일": True,
    "850312": True,
    "1985/03/12": True,
    "03/12/1985": True,
    "March 12, 1985": True,
    "12 March 1985": True,
    "Mar 12, 1985": True,
    "1985-02-30": False,
    "2012-03-12": False,
    "1958-03-12": False,
    "1985-03": False,
}
ADDRESS = {
    "가상시 동견본구 시험중앙로 12, 101동 1203호 (예시윗동, 모형빌라)": True,
    "견본도 남허구군 모형면 예시솔골리 123-4": True,
    "(64000) 가상특별시 동견본구 시험솔밭길 3": True,
    "모형광역시 동견본구 가상중앙대로12번길 5-1": True,
    "#1203, 12 Siheomjungang-ro, Donggyeonbon-gu, Gasang-si 64210": True,
    "(63644) 가상시 동견본구 시험중앙로 12": False,  # in use: Jeju
    "서울시 동견본구 시험중앙로 12": False,
    "가상시 강남구 시험중앙로 12": False,
    "가상시 동견본구 테헤란로 12": False,
    "12 Siheomjungang-ro, Donggyeonbon-gu, Seoul 64210": False,
    "12 Siheomjungang-ro, Donggyeonbon-gu, Gasang-si 03181": False,
}
PERSON = {"김가상": True, "김 가 상": True, "金佳相": True, "Kim Ga-sang": True, "홍*동": False, "김1": False}
REL = {"어머니": True, "시누이": True, "next door": False, "mother-in-law": True, "모": False}
ALL = {"RRN": RRN, "CARD": CARD, "PHONE": PHONE, "EMAIL": EMAIL, "ACCOUNT": ACCOUNT, "DOB": DOB, "ADDRESS": ADDRESS,
       "PERSON": PERSON, "REL": REL}  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "value", "safe"), [(type_, value, safe) for type_, table in ALL.items() for value, safe in table.items()]
)
def test_a_value_is_judged_by_its_rule(type_, value, safe):
    assert values.JUDGES[type_](value) is safe


def test_made_numbers_pass_another_check_than_their_maker():
    numbers = Numbers(3, 1)
    for owner in range(300):
        draws = Draws(3, "train", "ko", owner)
        digits = re.sub(r"\D", "", numbers.card(owner, bool(owner % 2), draws, "card"))
        doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(digits[::-1])]
        assert sum(number - 9 * (number > 9) for number in doubled) % 10
        assert len(digits) in (15, 16)
        rrn = re.sub(r"\D", "", numbers.rrn(owner, "991231", bool(owner % 2), bool(owner % 3), draws, "rrn"))
        total = sum(int(digit) * weight for digit, weight in zip(rrn, [*range(2, 10), *range(2, 6)], strict=False))
        assert int(rrn[12]) != (11 - total % 11) % 10
        assert int(rrn[12]) != (13 - total % 11) % 10
        assert int(rrn[6]) == (7 if owner % 2 else 3) + bool(owner % 3)


@pytest.mark.parametrize(
    ("number", "joiner", "wanted"),
    [
        ("010-0123-4567", "", "01001234567"),
        ("010-0123-4567", "ㅡ", "010ㅡ0123ㅡ4567"),
        ("01001234567", " ", "010 0123 4567"),
        ("8503123123456", "-", "850312-3123456"),
        ("+82 10-0123-4567", ".", "+82.10.0123.4567"),
        ("(02) 012-3456", "-", "02-012-3456"),
    ],
)
def test_a_number_keeps_its_digits_under_other_separators(number, joiner, wanted):
    assert respelled(number, joiner) == wanted


def test_full_width_and_wrapped_numbers():
    assert fullwidth("010-0123") == "０１０-０１２３"
    assert wrapped("850312-3123456") == "850312-\n3123456"
    assert wrapped("010 0123 4567") == "010 0123 \n4567"
    assert wrapped("01001234567") == "01001\n234567"
