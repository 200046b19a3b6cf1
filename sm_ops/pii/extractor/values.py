"""What a value of each type may look like and where it may stand, for decoding that is bound to the document.

A value neither begins nor ends between two digits (R11), holds no line end (R5) and has no blank at its ends (R2): what
is written is accepted by R9. It holds no TAB, leaves no bracket open and is not all in brackets. Numbers have the
characters of R12 and as many digits as their type can have, and are not cut at a sign between two digits; names and
relations hold no digit.
"""

from __future__ import annotations

from sm_ops.pii.matching import SEPARATORS
from sm_ops.pii.text import WHITESPACE, trim

_SIGNS = SEPARATORS - set(WHITESPACE)
_INNER = SEPARATORS - {"/"}  # which is a date's
_DIGITS = {"RRN": (13, 13), "CARD": (12, 19), "PHONE": (7, 15), "ACCOUNT": (7, 20), "DOB": (4, 8)}
"""How many digits a value has: RRN by law, cards by ISO/IEC 7812, phones up to 15 by E.164."""
_NUMBERS = frozenset(_DIGITS) - {"DOB"}
_NAMES = frozenset({"PERSON", "REL"})


def may_begin(name: str, source: str, index: int) -> bool:
    """Whether a value of the type can begin at a place of the source."""
    if not trim(source[index]) or (index > 0 and source[index - 1 : index + 1].isdecimal()):
        return False
    if name == "EMAIL":
        return "@" in source[index:].split(maxsplit=1)[0]
    if name not in _NUMBERS:
        return True
    if index > 1 and source[index - 2].isdecimal() and source[index].isdecimal() and _joins(source[index - 1]):
        return False
    for end in range(index + 1, len(source) + 1):
        if not is_part(name, source[index:end]):
            return False
        if may_end(name, source, end) and is_whole(name, source[index:end]):
            return True
    return False


def may_end(name: str, source: str, index: int) -> bool:
    """Whether a value of the type, which has characters, can end at a place of the source."""
    after = source[index : index + 2]
    if after[:1].isdecimal() and source[index - 1].isdecimal():
        return False
    cut = name in _DIGITS and source[index - 1].isdecimal() and after[1:].isdecimal() and _joins(after[:1])
    return not cut


def is_part(name: str, text: str) -> bool:
    """Whether a value of the type can begin with this text, of which all but the last character is known to do."""
    if text[-1] in "\t\r\n" or (name == "EMAIL" and text[-1] in WHITESPACE):
        return False
    if name in _NAMES and text[-1].isdecimal():
        return False
    if name in _NUMBERS and not (text[-1] in _INNER or text[-1].isdecimal()):
        return False
    return name not in _DIGITS or _digits(text) <= _DIGITS[name][1]


def is_whole(name: str, value: str) -> bool:
    """Whether the text has what a value of the type has."""
    if not value or trim(value) != value or value.count("(") > value.count(")"):
        return False
    if value[-1] == ")" and (value.count(")") > value.count("(") or (value[0] == "(" and ")" not in value[:-1])):
        return False
    if name == "EMAIL":
        return "@" in value[1:-1]
    return name not in _DIGITS or _digits(value) >= _DIGITS[name][0]


def _joins(sign: str) -> bool:
    return sign in _SIGNS and sign not in "()/"


def _digits(text: str) -> int:
    return sum(character.isdecimal() for character in text)
