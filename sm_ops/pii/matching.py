"""Where a value stands in a text: the very matcher for acceptance, replacement and coverage (R10 to R14).

* Every value matches literally, code point by code point, in its letter case and with no word edge: `Ann` is
  found in `Annual` (masking too much is reversible, a missed name is not).
* A PERSON of 2 to 6 characters without its blanks is also found with one and the same gap between all of them:
  none, one or two spaces, TAB, LF, CRLF, no-break or ideographic space (R10).
* RRN, DOB, PHONE, ACCOUNT and CARD values of at least six digits and no other characters than separators are
  also found with other separators, at most three in a place, and with full-width digits (R12, R13).
* No match begins or ends between two digits (R11).

Each search finds its next place from any position on, so that a scan over all of them passes over what another
one has taken. Searches share two views of the text, made once: without gaps, and its digits alone.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

from sm_ops.pii.text import WHITESPACE
from sm_ops.pii.types import NUMERIC

NAME_GAPS = frozenset({"", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u3000"})
NAME_LENGTHS = range(2, 7)
SMALLEST_NUMBER = 6
LONGEST_GAP = 3

_RANGES = ((0xB7, 0xB7), (0x2010, 0x2015), (0x2212, 0x2212), (0xFE63, 0xFE63), (0x3161, 0x3161), (0xFF0D, 0xFF0F),
           (0xFF08, 0xFF09), (0xFF0B, 0xFF0B), (0xAD, 0xAD), (0x200B, 0x200F), (0x2060, 0x2060), (0x202A, 0x202E),
           (0x2066, 0x2069), (0xFEFF, 0xFEFF))  # fmt: skip
SEPARATORS = frozenset(WHITESPACE + "-./()+" + "".join(chr(p) for a, b in _RANGES for p in range(a, b + 1)))
"""What may stand between digits: blanks, signs, dashes, their full-width forms, invisible characters (R12)."""
_FOLDED = {0xFF10 + digit: str(digit) for digit in range(10)}
_DIGIT = re.compile("[0-9\uff10-\uff19]")
_DECIMALS = re.compile(r"\d*")
_NO_BLANKS = str.maketrans("", "", WHITESPACE)
_NAME_BLANKS = frozenset("".join(NAME_GAPS))
_NO_GAPS = str.maketrans("", "", "".join(_NAME_BLANKS))
_BREAK = "|"


class Match(NamedTuple):
    """Half-open code points of the NFC text; `literal` where the value stands as it was given."""

    start: int
    end: int
    literal: bool


class View(NamedTuple):
    """Some characters of a text, and the place of each there, ascending."""

    text: str
    places: array[int]


class Source:
    """An NFC text and the views of it that searches share."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def compact(self) -> View:
        """Without the characters that gaps of names consist of."""
        return View(
            self.text.translate(_NO_GAPS),
            array("I", [place for place, character in enumerate(self.text) if character not in _NAME_BLANKS]),
        )

    @cached_property
    def digits(self) -> View:
        """The digits that numbers are made of, as 0 to 9, with a break where no number goes on (R13)."""
        digits: list[str] = []
        places = array("I")
        end = 0
        for match in _DIGIT.finditer(self.text):
            start = match.start()
            gap = self.text[end:start]
            if len(gap) > LONGEST_GAP or not SEPARATORS.issuperset(gap):
                digits.append(_BREAK)
                places.append(end)
            digits.append(match[0])
            places.append(start)
            end = start + 1
        return View("".join(digits).translate(_FOLDED), places)

    def stands_free(self, start: int, end: int) -> bool:
        """Whether neither edge is between two digits, of any script (R11)."""
        return not (self._inside_digits(start) or self._inside_digits(end))

    def next_start(self, start: int) -> int:
        """The next place where a match can start: none starts inside a run of digits (R11)."""
        run = _DECIMALS.match(self.text, start)
        return max(start + 1, run.end() if run else 0)

    def _inside_digits(self, place: int) -> bool:
        text = self.text
        return 0 < place < len(text) and text[place].isdecimal() and text[place - 1].isdecimal()


class Search(Protocol):
    """One way in which a value may stand in a source; `longest` bounds the length of its matches."""

    literal: bool
    longest: int

    def first(self, at: int) -> tuple[int, int] | None:
        """The match with the smallest start that is not below `at`; at each place there is at most one."""
        ...


class _Literal:
    literal = True

    def __init__(self, source: Source, value: str) -> None:
        self._source, self._value, self.longest = source, value, len(value)

    def first(self, at: int) -> tuple[int, int] | None:
        source, text = self._source, self._source.text
        while (start := text.find(self._value, at)) >= 0:
            if source.stands_free(start, start + self.longest):
                return start, start + self.longest
            at = source.next_start(start)
        return None


class _SpacedName:
    literal = False

    def __init__(self, source: Source, characters: str) -> None:
        self._source, self._characters = source, characters
        self.longest = len(characters) + (len(characters) - 1) * max(map(len, NAME_GAPS))

    def first(self, at: int) -> tuple[int, int] | None:
        text, places = self._source.compact
        index = bisect_left(places, at)
        while (index := text.find(self._characters, index)) >= 0:
            if match := self.match_at(self._source, index, len(self._characters)):
                return match
            index += 1
        return None

    @staticmethod
    def match_at(source: Source, index: int, length: int) -> tuple[int, int] | None:
        """The name of so many characters at an index of the compact view, if its gaps are one and the same (R10)."""
        places = source.compact.places[index : index + length]
        gap = source.text[places[0] + 1 : places[1]]
        if gap not in NAME_GAPS:
            return None
        if any(source.text[a + 1 : b] != gap for a, b in pairwise(places[1:])):
            return None
        start, end = places[0], places[-1] + 1
        return (start, end) if source.stands_free(start, end) else None


class _Number:
    literal = False

    def __init__(self, source: Source, digits: str) -> None:
        self._source, self._digits = source, digits
        self.longest = len(digits) + (len(digits) - 1) * LONGEST_GAP

    def first(self, at: int) -> tuple[int, int] | None:
        source, (text, places) = self._source, self._source.digits
        while (index := text.find(self._digits, bisect_left(places, at))) >= 0:
            start, end = places[index], places[index + len(self._digits) - 1] + 1
            if source.stands_free(start, end):
                return start, end
            at = source.next_start(start)
        return None


def name_characters(type_: str, value: str) -> str | None:
    """The characters of a value that is also found spaced (R10), else `None`."""
    characters = value.translate(_NO_BLANKS) if type_ == "PERSON" else ""
    return characters if len(characters) in NAME_LENGTHS else None


def number_digits(type_: str, value: str) -> str | None:
    """The digits 0 to 9 of a value that is also found with other separators (R12), else `None`."""
    if type_ not in NUMERIC:
        return None
    digits = _DIGIT.findall(value)
    if len(digits) < SMALLEST_NUMBER or not SEPARATORS.issuperset(_DIGIT.sub("", value)):
        return None
    return "".join(digits).translate(_FOLDED)


def searches(source: Source, type_: str, value: str) -> list[Search]:
    """Every way in which a normalised candidate may stand in a source: literally, and as a variant."""
    found: list[Search] = [_Literal(source, value)]
    if characters := name_characters(type_, value):
        found.append(_SpacedName(source, characters))
    if digits := number_digits(type_, value):
        found.append(_Number(source, digits))
    return found


def stands_in(source: Source, type_: str, value: str) -> bool:
    """Whether a normalised candidate has an occurrence: then it is accepted (R9)."""
    return any(search.first(0) for search in searches(source, type_, value))


def occurrences(source_nfc: str, type_: str, value: str) -> list[Match]:
    """All places of a normalised candidate in an NFC text, overlapping ones too (R14), ascending by (start, end)."""
    source = Source(source_nfc)
    return [Match(*span, literal) for span, literal in sorted(_spans(source, type_, value).items())]


def _spans(source: Source, type_: str, value: str) -> dict[tuple[int, int], bool]:
    spans: dict[tuple[int, int], bool] = {}
    for search in searches(source, type_, value):
        for span in _every(search):
            spans.setdefault(span, search.literal)
    return spans


def _every(search: Search) -> Iterator[tuple[int, int]]:
    at = 0
    while found := search.first(at):
        yield found
        at = found[0] + 1
