"""Whether values are what nobody can hold (G12), judged from the text alone: no code is shared with `values/`."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from sm_ops.pii.documents.checks.wellformed import Document
from sm_ops.pii.documents.listed import listed
from sm_ops.pii.documents.vocabularies import relations
from sm_ops.pii.documents.vocabularies.organisations import BANKS, BANKS_EN

_SEPARATORS = re.compile(r"[\s()./\-–ㅡ]+")
_RESERVED = re.compile(r"(?:[a-z0-9-]+\.)*(?:example\.(?:com|net|org)|(?:[a-z0-9-]+\.)(?:example|test|invalid))")
_MARKED_KO = "(?:가상|견본|허구|예시|모형|시험)"
_MARKED_EN = "(?:gasang|gyeonbon|heogu|yesi|mohyeong|siheom)"
_KOREAN_ADDRESS = re.compile(
    rf"(?:\(?([0-9]{{5}})\)? )?{_MARKED_KO}(?:특별시|광역시|시|도 {_MARKED_KO}시|도(?= \S+군)) "
    rf"\S*{_MARKED_KO}(?:구|군 {_MARKED_KO}[면읍]) "
    rf"{_MARKED_KO}\S*(?:(?:로|길)(?:[0-9]+번길)?|[동리]) [0-9]+.*"
)
_ENGLISH_ADDRESS = re.compile(
    rf".*[0-9]+ {_MARKED_EN}[a-z]*-(?:ro|daero|gil), "
    rf"[a-z]*{_MARKED_EN}-(?:gu|gun), {_MARKED_EN}-(?:si|do) ([0-9]{{5}})",
    re.IGNORECASE,
)
_LUNAR = "음력 "
_MONTHS = listed(
    """
    january february march april may june july august september october november december
    """
)
_UNPLANTED = re.compile(
    r"(?<![0-9])(?:[0-9]{6}[- ]?[1-8][0-9]{6}|01[016789][- .]?[0-9]{3,4}[- .]?[0-9]{4}"
    r"|(?:[0-9]{4}[- ]){3}[0-9]{4})(?![0-9])"
    r"|[\w.+-]+@[\w-]+\.[a-z]+"
)


def faults(document: Document) -> Iterator[str]:
    """What is wrong with a record's values, in words without them."""
    text = document.record["source_text"]
    birthdays: dict[Any, set[str]] = {}
    for each in document.planted:
        value = text[each.start : each.end]
        if not JUDGES[each.type](value):
            yield f"a {each.type} value could be somebody's or has a wrong shape"
        if each.type == "RRN":
            birthdays.setdefault(each.owner, set()).add(_digits(value)[:6])
        if each.type == "DOB" and (day := _day(value)):
            birthdays.setdefault(each.owner, set()).add(f"{day.year % 100:02d}{day.month:02d}{day.day:02d}")
        if each.type == "ACCOUNT" and not any(bank in text for bank in (*BANKS, *BANKS_EN)):
            yield "an ACCOUNT value stands beside no fictional bank"
    if any(len(heads) > 1 for heads in birthdays.values()):
        yield "a date of birth differs from its registration number's head"
    planted = [(each.start, each.end) for each in document.planted]
    for match in _UNPLANTED.finditer(text):
        if not any(start < match.end() and match.start() < end for start, end in planted):
            yield "a value of a type stands in the template itself"


def counted(documents: list[Document]) -> dict[str, int]:
    """How many values were judged, by type."""
    return dict(sorted(Counter(each.type for document in documents for each in document.planted).items()))


def _digits(value: str) -> str:
    """The digits alone, full-width ones as plain; signs other than separators stay and fail the shape."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", value.replace("ㅡ", "-")))


def is_unassignable_rrn(value: str) -> bool:
    """Thirteen digits, born 2060 to 2099 on a day that exists, wrong by the formulas of residents and foreigners."""
    digits = _digits(value)
    if not re.fullmatch("[6-9][0-9]{5}[3478][0-9]{6}", digits):
        return False
    try:
        datetime.date(2000 + int(digits[:2]), int(digits[2:4]), int(digits[4:6]))
    except ValueError:
        return False
    total = sum(int(digit) * (at % 8 + 2) for at, digit in enumerate(digits[:12]))
    return int(digits[12]) not in ((11 - total % 11) % 10, (13 - total % 11) % 10)


def fails_luhn(value: str) -> bool:
    """Fifteen or sixteen digits whose Luhn sum is no multiple of ten."""
    digits = _digits(value)
    if not re.fullmatch("[3-9][0-9]{14,15}", digits):
        return False
    total = 0
    for at, digit in enumerate(digits[::-1]):
        number = int(digit) << (at & 1)
        total += number if number < 10 else number - 9
    return total % 10 != 0


def is_unused_phone(value: str) -> bool:
    """A Korean exchange of 0000-1999 or 000-199, NANP's 555-01xx, or one of two British ranges kept for fiction."""
    digits = re.sub(r"^\+8210", "010", _digits(value))
    british = re.sub(r"^\+44", "0", digits)
    if re.fullmatch("07700900[0-9]{3}|02079460[0-9]{3}", british):
        return True
    if re.fullmatch(r"(?:\+1)?[2-9][0-9]{2}55501[0-9]{2}", digits):
        return True
    return bool(re.fullmatch("010[01][0-9]{7}|02[01][0-9]{6,7}|0(?:[3-6][0-9])[01][0-9]{6,7}|070[01][0-9]{7}", digits))


def is_reserved_email(value: str) -> bool:
    """A domain that RFC 2606 or RFC 6761 keeps for examples."""
    local, at, domain = value.partition("@")
    return bool(at and re.fullmatch("[a-z0-9._-]+", local) and _RESERVED.fullmatch(domain))


def is_marked_account(value: str) -> bool:
    """Eleven to fourteen digits from 000 on: a shape, no proof."""
    return bool(re.fullmatch("000[0-9]{8,11}", _digits(value)))


def is_harmless_day(value: str) -> bool:
    """A day of 1960 to 1999 that exists."""
    day = _day(value)
    return day is not None and 1960 <= day.year <= 1999


def _day(value: str) -> datetime.date | None:
    value = value.removeprefix(_LUNAR)
    if word := re.search("[A-Za-z]+", value):
        month = next((at for at, name in enumerate(_MONTHS, 1) if name.startswith(word[0].lower())), 0)
        numbers = re.findall("[0-9]+", value)
        parts = [max(numbers, key=len), str(month), min(numbers, key=len)]
    elif match := re.fullmatch("([0-9]{2})([0-9]{2})([0-9]{2})", value):
        parts = list(match.groups())
    elif match := re.fullmatch("([0-9]{2})/([0-9]{2})/([0-9]{4})", value):
        parts = [match[3], match[1], match[2]]
    else:
        parts = re.findall("[0-9]+", value)
    if len(parts) != 3:
        return None
    year = int(parts[0])
    try:
        return datetime.date(year + 1900 if year < 100 else year, int(parts[1]), int(parts[2]))
    except ValueError:
        return None


def is_marked_address(value: str) -> bool:
    """City, district, and road or neighbourhood carry a marked syllable pair; a postcode lies above those in use."""
    match = _KOREAN_ADDRESS.fullmatch(value) or _ENGLISH_ADDRESS.fullmatch(value)
    return bool(match and (match[1] is None or int(match[1]) >= 64000))


def has_name_shape(value: str) -> bool:
    """Hangul or Chinese characters or Latin words: no name can be made unassignable."""
    return bool(re.fullmatch(r"[가-힣](?:[\s]*[가-힣])*|[\u4e00-\u9fff]{2,5}|[A-Z][A-Za-z]*(?:[ -][A-Za-z]+)*", value))


def is_relation(value: str) -> bool:
    """One of the listed words."""
    return any(value in words for lang in ("ko", "en") for part in relations(lang, "test") for words in part.values())


JUDGES: dict[str, Callable[[str], bool]] = {
    "RRN": is_unassignable_rrn,
    "CARD": fails_luhn,
    "PHONE": is_unused_phone,
    "EMAIL": is_reserved_email,
    "ACCOUNT": is_marked_account,
    "DOB": is_harmless_day,
    "ADDRESS": is_marked_address,
    "PERSON": has_name_shape,
    "REL": is_relation,
}
