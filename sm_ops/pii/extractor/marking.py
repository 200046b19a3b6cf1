"""Thinking before the answer: the document copied with every private stretch marked, then the rows of the marks.

To name the next private value and jump to it is hard for a model of a million parameters; to copy is easy, and at
each token it then decides one thing, with the whole document before it. R4 takes the block away, so that the answer is
the rows alone.
"""

from __future__ import annotations

import math
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.pii.extractor.values import is_part, is_whole, may_begin, may_end
from sm_ops.pii.extractor.windows import Piece
from sm_ops.pii.types import TYPES
from sm_ops.scoring.tokenize import encode

THINK, END_OF_THINKING = "<think>", "</think>"
OPEN = {name: f"<{name}>" for name in TYPES}
CLOSE = "</>"
TOKENS = (THINK, END_OF_THINKING, *OPEN.values(), CLOSE)
"""Each is one token of the tiny model's tokenizer."""


def answer(piece: Piece, think: str) -> str:
    """What is answered to a piece: its rows, after the marked text where `think` is `marked`."""
    return f"{THINK}{marked(piece)}{END_OF_THINKING}{piece.rows}" if think == "marked" else piece.rows


def marked(piece: Piece) -> str:
    """The text with its values marked; of two that overlap the first, or longer one."""
    parts, position = [], 0
    for start, end, name in piece.places:
        if start >= position:
            parts += [piece.text[position:start], OPEN[name], piece.text[start:end], CLOSE]
            position = end
    return "".join([*parts, piece.text[position:]])


class Marking:
    """Writes the block token by token: the next token of the text, or a mark where a value may begin or end."""

    def __init__(self, source: str, tokenizer: Any) -> None:
        """`source` is the piece's text in NFC; each of `TOKENS` is one token of the tokenizer."""
        self._source = source
        self._ids, self._offsets = encode(tokenizer, source)
        self._open = {tokenizer.convert_tokens_to_ids(mark): name for name, mark in OPEN.items()}
        self._close, self._think = tokenizer.convert_tokens_to_ids([CLOSE, THINK])
        self._marks = [*self._open, self._close]
        self._at = -1  # of the text's tokens, which comes next; -1 before the block
        self._name: str | None = None
        self._begin = 0
        self.rows: list[tuple[str, str]] = []

    def choose(self, logits: Any) -> int | None:
        """The likeliest token that may follow, by the logits (V,); None where all is copied.

        The text's next token stands for all that are no marks: what is copied is known.
        """
        if self._at < 0:
            self._at = 0
            return self._think
        place = self._place()
        moves = self._moves(place)
        if not moves:
            if self._name is None:
                return None
            moves = [(self._close, "close")]  # the mark led nowhere
        chosen, move = moves[self._likeliest(moves, logits) if len(moves) > 1 else 0]
        if move == "copy":
            self._at += 1
        elif move == "close":
            if (value := self._value(place)) is not None:
                self.rows.append((self._name or "", value))
            self._name = None
        else:
            self._name, self._begin = move, place or 0
        return chosen

    def _likeliest(self, moves: list[tuple[int, str]], logits: Any) -> int:
        scores = logits[[token for token, _ in moves]]
        others = logits.clone()
        others[self._marks] = -math.inf
        for number, (_, move) in enumerate(moves):
            if move == "copy":
                scores[number] = others.logsumexp(0)
        return int(scores.argmax())

    def _moves(self, place: int | None) -> list[tuple[int, str]]:
        """The tokens that may follow, each with `copy`, `close` or the name of the type that it opens."""
        left = self._at < len(self._ids)
        if self._name is None:
            copy = [(self._ids[self._at], "copy")] if left else []
            marks = self._open.items() if left and place is not None else ()
            return copy + [
                (mark, name)
                for mark, name in marks
                if mark != self._ids[self._at] and may_begin(name, self._source, place or 0)
            ]
        close = [(self._close, "close")] if self._value(place) is not None else []
        return close + ([(self._ids[self._at], "copy")] if left and self._may_go_on() else [])

    def _place(self) -> int | None:
        """Where in the text the next token begins; None within a character."""
        before = self._offsets[self._at - 1][1] if self._at else 0
        start = self._offsets[self._at][0] if self._at < len(self._ids) else len(self._source)
        return start if before <= start else None

    def _value(self, place: int | None) -> str | None:
        if place is None or self._name is None or place <= self._begin:
            return None
        value = self._source[self._begin : place]
        return value if is_whole(self._name, value) and may_end(self._name, self._source, place) else None

    def _may_go_on(self) -> bool:
        start, end = self._offsets[self._at]
        longer = (self._source[self._begin : stop] for stop in range(start + 1, end + 1))
        return all(is_part(self._name or "", text) for text in longer)


def require_marks(tokenizer: Any) -> None:
    """Raise `InputError` where a mark is not one token."""
    if any(len(encode(tokenizer, token)[0]) != 1 for token in TOKENS):
        hint = "The model's tokenizer has no tokens for marks, which the tiny model has; set base.think to none."
        raise InputError("no-marks", hint)
