"""Document fields: intervals that the record itself gives."""

from __future__ import annotations

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record


def intervals(record: Record) -> list[tuple[int, int]]:
    """The pairs of `meta.fields`, in their order; overlaps are allowed, and an empty one has no tokens.

    Raises `InputError` for what is no list of half-open intervals within the record.
    """
    fields, size = record.meta.get("fields", []), len(record.content)
    if not (isinstance(fields, list) and all(_within(field, size) for field in fields)):
        raise InputError(
            "bad-fields",
            f"meta.fields of a record of {size} characters must be a list of [start, end] with "
            "0 <= start <= end within it; correct the record.",
        )
    return [(start, end) for start, end in fields]


def _within(field: object, size: int) -> bool:
    return (
        isinstance(field, list | tuple)
        and len(field) == 2
        and all(isinstance(edge, int) and not isinstance(edge, bool) for edge in field)
        and 0 <= field[0] <= field[1] <= size
    )
