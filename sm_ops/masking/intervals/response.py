"""Chat responses: one window per assistant message (OP-35)."""

from __future__ import annotations

from sm_ops.core.records import Record


def intervals(record: Record) -> list[tuple[int, int]]:
    """The contents of the assistant's messages; the whole of a text."""
    return record.supervised_intervals
