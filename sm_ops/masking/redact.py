"""Redaction: masked spans of a record's text give way to a placeholder, and nothing else changes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from sm_ops.core.records import Message, Record, Span

PLACEHOLDER = "[MASKED]"
Interval = tuple[int, int]


def redact(record: Record, intervals: Sequence[Interval], placeholder: str = PLACEHOLDER) -> Record:
    """The record with each interval (disjoint, in order, canonical coordinates) replaced by the placeholder.

    An interval that reaches over the end of a message is cut there, and each part gets a placeholder. Labelled spans
    are moved to where their remaining characters are, and dropped where none remain; `meta.fields`, whose offsets
    would be wrong, is dropped.
    """
    meta = {key: value for key, value in record.meta.items() if key != "fields"}
    if record.messages is None:
        text, moved = _cut(record.text or "", intervals, placeholder)
        return replace(record, text=text, spans=_spans(record.spans, {None: moved}), meta=meta)
    messages, moves = [], {}
    for number, (message, start) in enumerate(zip(record.messages, record.message_starts, strict=True)):
        end = start + len(message.content)
        own = [(max(a, start) - start, min(b, end) - start) for a, b in intervals if a < end and b > start]
        content, moves[number] = _cut(message.content, own, placeholder)
        messages.append(Message(message.role, content))
    return replace(record, messages=tuple(messages), spans=_spans(record.spans, moves), meta=meta)


class _Moves:
    """Where the characters that stay have gone."""

    def __init__(self, intervals: Sequence[Interval], width: int) -> None:
        self._intervals, self._width = list(intervals), width
        self._starts = [start for start, _ in intervals]

    def kept(self, start: int, end: int) -> Interval | None:
        """The new interval from the first to the last character of `start:end` that stays."""
        for a, b in self._intervals:
            if a <= start < b:
                start = b
        for a, b in reversed(self._intervals):
            if a < end <= b:
                end = a
        return (self._shift(start), self._shift(end - 1) + 1) if start < end else None

    def _shift(self, position: int) -> int:
        before = self._intervals[: bisect_right(self._starts, position)]
        return position + sum(self._width - (b - a) for a, b in before)


def _cut(text: str, intervals: Sequence[Interval], placeholder: str) -> tuple[str, _Moves]:
    pieces, position = [], 0
    for start, end in intervals:
        pieces += [text[position:start], placeholder]
        position = end
    return "".join([*pieces, text[position:]]), _Moves(intervals, len(placeholder))


def _spans(spans: Sequence[Span], moves: dict[int | None, _Moves]) -> tuple[Span, ...]:
    places = [(span, moves[span.message].kept(span.start, span.end)) for span in spans]
    return tuple(replace(span, start=place[0], end=place[1]) for span, place in places if place is not None)
