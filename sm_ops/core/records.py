"""Records: a text or a chat with an id, and labelled spans in half-open code-point intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open code-point interval with a label; in a chat, `message` says whose content it counts in."""

    start: int
    end: int
    label: str
    message: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Record:
    """A text or a chat (exactly one of the two) with an id, an optional group and labelled spans.

    Everything after reading works in *canonical coordinates*: code points of `content`, which is the text
    itself or the contents of the messages joined by a newline. Chat templates add tokens, never coordinates.
    """

    id: str
    text: str | None = None
    messages: tuple[Message, ...] | None = None
    group: str | None = None
    spans: tuple[Span, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """The string that all canonical offsets count in."""
        if self.messages is None:
            return self.text or ""
        return "\n".join(message.content for message in self.messages)

    @property
    def message_starts(self) -> tuple[int, ...]:
        """Where each message's content begins in `content`; `(0,)` for a text."""
        if self.messages is None:
            return (0,)
        starts, position = [], 0
        for message in self.messages:
            starts.append(position)
            position += len(message.content) + 1
        return tuple(starts)

    @property
    def content_spans(self) -> list[tuple[int, int, str]]:
        """The spans as `(start, end, label)` in canonical coordinates."""
        starts = self.message_starts
        return [
            (starts[span.message or 0] + span.start, starts[span.message or 0] + span.end, span.label)
            for span in self.spans
        ]

    @property
    def supervised_intervals(self) -> list[tuple[int, int]]:
        """What a model may learn: the whole text, or the contents of the assistant's messages."""
        if self.messages is None:
            return [(0, len(self.content))]
        return [
            (start, start + len(message.content))
            for start, message in zip(self.message_starts, self.messages, strict=True)
            if message.role == "assistant"
        ]
