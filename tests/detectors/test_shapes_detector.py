"""Shapes alone: what they find, and what they cannot tell apart."""

from __future__ import annotations

import pytest

from sm_ops.core.errors import InputError
from sm_ops.detectors.members.shapes import load

pytestmark = pytest.mark.unit


def found(text: str) -> list[tuple[str, str]]:
    (spans,) = load({}).detect([text])
    return [(span.label, text[span.start : span.end]) for span in spans]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("주민번호 991231-3000001이고", [("RRN", "991231-3000001")]),
        ("카드 4539-1488-0343-6468은", [("CARD", "4539-1488-0343-6468")]),
        ("ga.sang@example.com으로", [("EMAIL", "ga.sang@example.com")]),
        ("연락처 010-0000-1234, (425) 555-0196", [("PHONE", "010-0000-1234"), ("PHONE", "(425) 555-0196")]),
        ("1985-03-12, 85년 3월 12일", [("DOB", "1985-03-12"), ("DOB", "85년 3월 12일")]),
        ("on March 12, 1985 and 12 March 1985", [("DOB", "March 12, 1985"), ("DOB", "12 March 1985")]),
        ("계좌 000-42-930785", [("ACCOUNT", "000-42-930785")]),
        ("성명 김가상, 어머니, 가상시 견본구 시험로 12", []),
        ("version 2.0 costs 150,000,000", []),
    ],
)  # fmt: skip
def test_each_type_by_its_shape(text, expected):
    assert found(text) == expected


def test_what_it_cannot_tell_apart():
    assert found("배포일 2025-02-03") == [("DOB", "2025-02-03")]
    assert found("사업자등록번호 123-45-67890") == [("ACCOUNT", "123-45-67890")]
    assert found("주문 20250305123456") == [("ACCOUNT", "20250305123456")]


def test_no_number_is_cut():
    assert found("12345678901234567890 9912313000001999") == [("CARD", "9912313000001999")]


def test_an_unknown_setting_is_refused():
    with pytest.raises(InputError, match="the nearest is threshold"):
        load({"treshold": 0.5})
