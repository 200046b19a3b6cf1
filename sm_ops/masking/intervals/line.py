"""Lines, without their terminators; a line of whitespace only is no window (OP-11)."""

from __future__ import annotations

from sm_ops.core.records import Record


def intervals(record: Record) -> list[tuple[int, int]]:
    """The non-blank lines of a record."""
    return lines(record.content)


def lines(text: str) -> list[tuple[int, int]]:
    """Half-open intervals of the non-blank lines of a text.

    `\\n` ends a line, and one `\\r` directly before it belongs to the terminator; nothing else does. A final `\\n`
    opens no line.
    """
    found, start = [], 0
    for piece in text.split("\n"):
        end = start + len(piece)
        terminated = end < len(text)
        content = piece.removesuffix("\r") if terminated else piece
        if content.strip():
            found.append((start, start + len(content)))
        start = end + 1
    return found
