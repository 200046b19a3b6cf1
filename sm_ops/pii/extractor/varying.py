"""Variations of training texts, so that a model learns what stands in and beside a value, and not a template by heart.

A template repeats: after some documents of it a small model knows what comes where, and finds nothing in a template
that it has not seen. In a variation pieces of several texts stand together, words between the values are others, and
values give way to others of their type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from sm_ops.pii.extractor.windows import Piece

Item = TypeVar("Item")

_WORD = re.compile(r"[가-힣]{2,}|[A-Za-z]{2,}")
_BETWEEN = (" ", " ", " ", "\n", "\t", ", ", ": ", " / ", " - ", ". ", " (", ") ", "|")
_MIXED = 0.6
"""Share of the variations that are put together from several texts."""
_MOST_SNIPPETS, _AROUND = 12, 12
_SHARES = (0.0, 0.3, 0.7)
"""Of the words that give way to others; one of these is drawn for each variation."""
_BESIDE = (0, 6, 12)
"""How far before a value words stay as they are, for they may say what it is."""


class Variations:
    """Draws variations of texts from the same texts."""

    def __init__(self, pieces: Sequence[Piece], seed: int) -> None:
        self._pieces = pieces
        self._longest = max(len(piece.text) for piece in pieces)
        self._random = np.random.default_rng(seed)
        self._values: dict[str, list[str]] = {}
        words: set[str] = set()
        for piece in pieces:
            for start, end, name in piece.places:
                self._values.setdefault(name, []).append(piece.text[start:end])
            words |= {piece.text[start:end] for start, end in _words(piece, 0)}
        self._words = sorted(words)

    def draw(self, piece: Piece) -> Piece:
        """A variation of a text, of at most the longest text's length."""
        mixed = self._random.random() < _MIXED
        varied = self._swapped(self._mixed() if mixed else piece)
        return varied if len(varied.text) <= self._longest else piece

    def _mixed(self) -> Piece:
        """Snippets of other texts, many of them around a value, with all kinds of signs between them."""
        text, places = "", []
        length = int(self._random.integers(self._longest // 3, self._longest + 1))
        for _ in range(_MOST_SNIPPETS):
            part = self._snippet()
            between = _BETWEEN[int(self._random.integers(len(_BETWEEN)))] if text else ""
            if len(text) + len(between) + len(part.text) > length:
                break
            text += between
            places += [(start + len(text), end + len(text), name) for start, end, name in part.places]
            text += part.text
        return Piece(text, tuple(places))

    def _snippet(self) -> Piece:
        piece = self._one_of(self._pieces)
        if piece.places and self._random.random() < 0.7:
            start, end, _ = self._one_of(piece.places)
            around = self._random.integers(_AROUND, size=2).tolist()
            first, last = max(0, start - around[0]), min(len(piece.text), end + around[1])
        else:
            first, last = sorted(self._random.integers(len(piece.text) + 1, size=2).tolist())
            last = min(last, first + 3 * _AROUND)
        while cut := [(a, b) for a, b, _ in piece.places if a < first < b or a < last < b]:  # through a value
            first, last = min(first, *(a for a, _ in cut)), max(last, *(b for _, b in cut))
        for edge, step in ((first, -1), (last, 1)):  # through a word or number
            while 0 < edge < len(piece.text) and piece.text[edge - 1 : edge + 1].isalnum():
                edge += step
            first, last = (edge, last) if step < 0 else (first, edge)
        return piece.part(first, last)

    def _swapped(self, piece: Piece) -> Piece:
        """The text with other words, and other values of the same types."""
        share = self._one_of(_SHARES)
        beside = self._one_of(_BESIDE)
        swaps: list[tuple[int, int, str, str | None]] = [
            (start, end, self._one_of(self._words), None)
            for start, end in _words(piece, beside)
            if self._random.random() < share
        ]
        position = 0
        for start, end, name in piece.places:
            if start >= position:
                other = self._random.random() < 0.5
                swaps.append((start, end, self._one_of(self._values[name]) if other else piece.text[start:end], name))
                position = end
        text, places, position = "", [], 0
        for start, end, other, name in sorted(swaps, key=lambda swap: swap[:2]):
            text += piece.text[position:start]
            if name is not None:
                places.append((len(text), len(text) + len(other), name))
            text += other
            position = end
        return Piece(text + piece.text[position:], tuple(places))

    def _one_of(self, items: Sequence[Item]) -> Item:
        return items[int(self._random.integers(len(items)))]


def _words(piece: Piece, beside: int) -> list[tuple[int, int]]:
    """Words of which no value stands within so many characters behind them."""
    return [
        match.span()
        for match in _WORD.finditer(piece.text)
        if not any(start - beside <= match.end() and match.start() <= end for start, end, _ in piece.places)
    ]
