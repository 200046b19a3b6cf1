"""Context: what stands before a record's code so that a model reads it first (a task), and is never judged or masked.

Corpora say where code begins with `meta.code_from`, a number of characters; without that a record has no context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sm_ops.core.records import Record
from sm_ops.sanitizing.levels import Row

CODE_FROM = "code_from"


def code_from(record: Record) -> int:
    """Where the code of a record begins; 0 where its meta has no number there."""
    begin = record.meta.get(CODE_FROM)
    return begin if type(begin) is int else 0


def noted(records: Iterable[Record], begins: dict[str, int]) -> Iterator[Record]:
    """The records as they come, while `begins` takes down, by id, where the code of those with context begins."""
    for record in records:
        if begin := code_from(record):
            begins[record.id] = begin
        yield record


def behind(rows: Iterable[Row], begins: dict[str, int]) -> Iterator[Row]:
    """The rows of the same records without the intervals that begin in the context; what was noted is used up."""
    for row in rows:
        kept = row.starts >= begins.pop(row.id, 0)
        yield Row(row.id, row.starts[kept], row.ends[kept], row.levels[kept])
