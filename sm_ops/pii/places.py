"""From places in a stored text to places in its NFC form, and what replaced spans leave of them."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from sm_ops.pii.replacement import Span
from sm_ops.pii.text import trim

_FIRST_JOINING = "\u0300"
"""No character below it ever joins the one before."""


class Places:
    """Offsets of a stored text as offsets of its NFC form.

    In a text that is not NFC, a span is widened where it would end within a character and its marks.
    """

    def __init__(self, text: str) -> None:
        self.text = unicodedata.normalize("NFC", text)
        self._given, self._normal = ([], []) if self.text == text else _borders(text)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Half-open code points of the NFC form."""
        if not self._given:
            return start, end
        first, last = bisect_right(self._given, start) - 1, bisect_left(self._given, end)
        return self._normal[first], self._normal[last]


def _borders(text: str) -> tuple[list[int], list[int]]:
    """Offsets at which a text may be cut and normalised in parts, and the same in the NFC form."""
    given, normal = [0], [0]
    at = length = 0
    for place, character in enumerate(text):
        if place and (character < _FIRST_JOINING or _stands_alone(text[at:place], character)):
            at, length = place, length + len(unicodedata.normalize("NFC", text[at:place]))
            given.append(at)
            normal.append(length)
    return [*given, len(text)], [*normal, length + len(unicodedata.normalize("NFC", text[at:]))]


def _stands_alone(before: str, character: str) -> bool:
    """Whether NFC of both is NFC of each, whatever follows; some characters of class 0 are a mark and more (U+0F73)."""
    if unicodedata.combining(unicodedata.normalize("NFD", character)[0]):
        return False
    normal = unicodedata.normalize("NFC", before) + unicodedata.normalize("NFC", character)
    return unicodedata.normalize("NFC", before + character) == normal


def left_over(text: str, places: Iterable[Span], taken: Sequence[Span]) -> Iterator[Span]:
    """The stretches of labelled places that no taken span (ascending, disjoint) covers, without blanks at their ends.

    Ascending and disjoint; where places overlap, the one that begins first has the stretch, and of those the longest.
    """
    starts = [start for start, _, _ in taken]
    at = 0
    for start, end, type_ in sorted(places, key=lambda place: (place[0], -place[1])):
        at = max(at, start)
        number = max(0, bisect_right(starts, at) - 1)
        while at < end:
            first, last, _ = taken[number] if number < len(taken) else (end, end, "")
            if first > at and (rest := trim(text[at : min(first, end)])):
                found = text.index(rest, at)
                yield found, found + len(rest), type_
            at = max(at, min(last, end)) if first <= end else end
            number += 1
