"""Records some at a time, cut by their characters, for whatever scores many together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sm_ops.core.records import Record

CHARACTERS = 1 << 19


def parts(records: Iterable[Record], characters: int = CHARACTERS) -> Iterator[list[Record]]:
    """Consecutive records, closed as soon as they have so many characters."""
    part: list[Record] = []
    size = 0
    for record in records:
        part.append(record)
        size += len(record.content)
        if size >= characters:
            yield part
            part, size = [], 0
    if part:
        yield part
