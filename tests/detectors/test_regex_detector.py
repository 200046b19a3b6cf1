"""The regular expressions: values of shapes that nobody can hold, in sentences, forms and mixed text."""

from __future__ import annotations

import time

import pytest

from sm_ops.detectors.members.regex import load

pytestmark = pytest.mark.unit


def found(text: str, **settings) -> list[tuple[str, str]]:
    (detections,) = load(settings).detect([text])
    return [(each.label, text[each.start : each.end]) for each in detections]


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("메일은 ga.sang@example.com으로 주세요", "EMAIL", "ga.sang@example.com"),
        ("이메일:GA_SANG.kim+1@mail.example.co.kr.", "EMAIL", "GA_SANG.kim+1@mail.example.co.kr"),
        ("담당자ga-sang@견본.example 아닌 ga@x-y.test이고", "EMAIL", "ga@x-y.test"),
        ("주민번호는 991231-3000001입니다", "RRN", "991231-3000001"),
        ("주민번호 991231 - 3000001", "RRN", "991231 - 3000001"),
        ("9912313000001은", "RRN", "9912313000001"),
        ("외국인등록번호 ９９１２３１－７００００01", "RRN", "９９１２３１－７００００01"),
        ("991231.3000001", "RRN", "991231.3000001"),
        ("991231ㅡ4000001", "RRN", "991231ㅡ4000001"),
        ("카드 4000-0000-0000-0001로 결제", "CARD", "4000-0000-0000-0001"),
        ("card 4000 0000 0000 0001, exp 01/30", "CARD", "4000 0000 0000 0001"),
        ("9400000000000001", "CARD", "9400000000000001"),
        ("4000 - 0000 - 0000 - 0001", "CARD", "4000 - 0000 - 0000 - 0001"),
        ("3000 000000 0004", "CARD", "3000 000000 0004"),
        ("4000000000006", "CARD", "4000000000006"),  # 13 digits, Luhn holds
        ("3700-000000-00001", "CARD", "3700-000000-00001"),
        ("연락처: 010-0000-1234로", "PHONE", "010-0000-1234"),
        ("01000001234예요", "PHONE", "01000001234"),
        ("010 0000 1234", "PHONE", "010 0000 1234"),
        ("+82 10-0000-1234", "PHONE", "+82 10-0000-1234"),
        ("(02) 0123-4567번", "PHONE", "(02) 0123-4567"),
        ("02)0123-4567", "PHONE", "02)0123-4567"),
        ("031-123-4567", "PHONE", "031-123-4567"),
        ("배우자(031-123-4567)", "PHONE", "031-123-4567"),
        ("010 - 0000 - 1234", "PHONE", "010 - 0000 - 1234"),
        ("001-212-555-0123", "PHONE", "001-212-555-0123"),
        ("call (212) 555-0123 now", "PHONE", "(212) 555-0123"),
        ("+1 212-555-0123 x12", "PHONE", "+1 212-555-0123 x12"),
        ("07700 900123", "PHONE", "07700 900123"),
        ("020 7946 0123", "PHONE", "020 7946 0123"),
        ("+49 30 901820 0", "PHONE", "+49 30 901820 0"),
        ("생년월일: 1985-03-12", "DOB", "1985-03-12"),
        ("1985년 3월 12일생입니다", "DOB", "1985년 3월 12일"),
        ("85년 3월 12일 출생", "DOB", "85년 3월 12일"),
        ("어머니 생신은 음력 1955년 3월 2일이에요", "DOB", "음력 1955년 3월 2일"),
        ("생년월일 1985.3.12.", "DOB", "1985.3.12."),
        ("생년월일(6자리) 850312", "DOB", "850312"),
        ("DOB: 03/12/1985", "DOB", "03/12/1985"),
        ("She was born on March 12, 1985 in Testville", "DOB", "March 12, 1985"),
        ("born 12th March 1985", "DOB", "12th March 1985"),
        ("가상은행 000-12-345678로 보내 주세요", "ACCOUNT", "000-12-345678"),
        ("계좌 000123456789 (예금주 본인)", "ACCOUNT", "000123456789"),
        ("계좌번호도 동일함: 000 - 12 - 345678", "ACCOUNT", "000 - 12 - 345678"),
        ("견본뱅크 000-1234-5678-90 입금", "ACCOUNT", "000-1234-5678-90"),
        ("가상증권 000 1234 5678 90", "ACCOUNT", "000 1234 5678 90"),
        ("account no. 000 123 456789", "ACCOUNT", "000 123 456789"),
        ("GB82 WEST 1234 5698 7654 32", "ACCOUNT", "GB82 WEST 1234 5698 7654 32"),  # ISO 13616's own example
        ("성명: 김가상\n", "PERSON", "김가상"),
        ("성 명 : 김 가 상 (인)", "PERSON", "김 가 상"),
        ("이름\t남궁가상", "PERSON", "남궁가상"),
        ("Name: Ann B. O'Test", "PERSON", "Ann B. O'Test"),
        ("어머니께서", "REL", "어머니"),
        ("선생님 어머니께도 안부를", "REL", "어머니"),
        ("보호자(배우자)", "REL", "배우자"),
        ("her mother-in-law said", "REL", "mother-in-law"),
        ("next of kin", "REL", "next of kin"),
        ("MOTHER가", "REL", "MOTHER"),
    ],
)  # fmt: skip
def test_a_value_is_found_whole_and_without_what_is_glued_to_it(text, type_, value):
    assert (type_, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "대표번호 1588-0000, 1577-0000",
        "사업자등록번호 000-12-34567, 은행 확인",
        "홍*동, 김OO, 김 모 씨, 010-****-1234, 991332-3******",
        "991332-3000001",  # no month 13
        "1-991231-3000001 and 991231-3000001-5",  # parts of longer numbers
        "4000-0000-0000-00012",
        "계좌 000123-45-\n678901",  # goes on over the line end: half of it would be no account
        "4000000000001",  # 13 digits without Luhn digit
        "증권번호 제2024-123456호",
        "the parent company and its sister company",
        "버전 2024.01.02 배포, 2024-03-12 회의",
        "주문번호 20240312-0001, 송장 123456789012",
        "12,345,678원",
        "a@b, @example.com, x@.com, ga.sang@localhost",
        "형제 기업과 자매결연, 모회사, 이모티콘, 형광등",
        "이름이 예쁘다",
        "성명\t주민번호\t가족",  # a table's head
        "GB00 WEST 1234 5698 7654 32",
        "\u212aB82 WEST 1234 5698 7654 32",  # the Kelvin sign is no K
    ],
)
def test_what_only_looks_like_a_value_is_not(text):
    assert found(text) == []


def test_a_luhn_digit_makes_a_card_surer():
    """The first two are test numbers that card networks publish."""
    sure, other, unsure = load({}).detect(["4111 1111 1111 1111", "5555 5555 5555 4444", "4000 0000 0000 0001"])
    assert sure[0].score == other[0].score > unsure[0].score
    assert found("4000 0000 0000 0001", threshold=0.9) == []


def test_one_place_has_one_type():
    assert found("주민번호 9912313000001, 은행 제출") == [("RRN", "9912313000001")]
    assert found("입금 계좌: 가상은행 0001013000001") == [("ACCOUNT", "0001013000001")]
    assert found("은행 카드 4000-0000-0000-0001") == [("CARD", "4000-0000-0000-0001")]


def test_several_values_come_in_order():
    text = "김가상 010-0000-1234, 이메일 ga@example.com, 010-0000-5678"
    assert found(text) == [("PHONE", "010-0000-1234"), ("EMAIL", "ga@example.com"), ("PHONE", "010-0000-5678")]


def test_names_and_addresses_in_running_text_are_beyond_it():
    assert found("김가상 씨는 가상시 견본구 시험로 12, 101동 1203호에 산다") == []


@pytest.mark.parametrize(
    "text",
    [
        "a" * 10**5,
        "a." * 10**5,
        "1" * 10**5,
        "1-" * 10**5,
        "(02) " * 10**5,
        "성명" * 10**5,
        "x@" + "a." * 10**5,
        "+1 " * 10**5,
    ],
)
def test_time_is_linear_in_hostile_text(text):
    before = time.process_time()
    load({}).detect([text])
    assert time.process_time() - before < 3
