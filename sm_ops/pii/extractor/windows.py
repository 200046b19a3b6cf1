"""Documents in windows: pieces that a small model reads one at a time, each with the rows of its own values.

Windows end at line ends and behind sentences, and only where these are too far apart at another blank. They cover
the text. A window is asked about as if it were a document, and a document's answer is its windows' answers in order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sm_ops.pii.text import normalise_source

_END = re.compile(r"(?<=\n)|(?<=[.!?。])(?= )")
_BLANK = re.compile(r"(?<=[,;:)/|]) | (?=\S)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A text, and start, end and type of each place of a value in it."""

    text: str
    places: tuple[tuple[int, int, str], ...] = ()

    def part(self, first: int, last: int) -> Piece:
        """The text from `first` to `last` with the values that stand in it as a whole."""
        inside = (place for place in self.places if first <= place[0] and place[1] <= last)
        return Piece(self.text[first:last], tuple((start - first, end - first, name) for start, end, name in inside))

    @property
    def rows(self) -> str:
        """The rows of its values, each once, in the order of their first places (G2)."""
        return "\n".join(dict.fromkeys(f"{name}\t{self.text[start:end]}" for start, end, name in self.places))


def labelled(document: Mapping[str, Any]) -> Piece:
    """A document (`source_text`, `target_tsv`) with the literal places of its values; the text in NFC.

    A place within a longer value's counts only for a value that stands nowhere else.
    """
    text = normalise_source(document["source_text"])
    rows = [row.split("\t", 1) for row in filter(None, document["target_tsv"].split("\n"))]
    found = [
        [(match.start(), match.end(), name) for match in re.finditer(re.escape(value), text)] for name, value in rows
    ]
    every = [place[:2] for places in found for place in places]
    kept = []
    for places in found:
        alone = [
            (start, end, name)
            for start, end, name in places
            if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in every)
        ]
        kept += alone or places
    return Piece(text, tuple(sorted(kept, key=lambda place: (place[0], -place[1]))))


def windows(text: str, size: int | None) -> list[tuple[int, int]]:
    """Start and end of each window, of `size` characters at most where there are blanks; None: the whole text.

    Neighbours that are no longer than that together are one.
    """
    if size is None:
        return [(0, len(text))]
    edges = sorted({0, len(text), *(match.start() for match in _END.finditer(text))})
    found: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        while end - start > size:
            cuts = [match.start() for match in _BLANK.finditer(text, start + 1, start + size)]
            if not cuts:
                break
            found.append((start, cuts[-1]))
            start = cuts[-1]
        if found and end - found[-1][0] <= size:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found or [(0, 0)]


def in_windows(document: Mapping[str, Any], size: int | None) -> list[Piece]:
    """A document's windows; a value that a cut goes through is in none of them."""
    whole = labelled(document)
    return [whole.part(start, end) for start, end in windows(whole.text, size)]
