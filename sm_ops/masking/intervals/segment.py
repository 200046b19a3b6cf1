"""Punctuation segments: the maximal stretches between marks of a stated list (OP-35)."""

from __future__ import annotations

import re

from sm_ops.core.records import Record
from sm_ops.masking.intervals._pieces import trimmed

MARKS = ".!?,;:…。！？、，；："
_STRETCH = re.compile(f"[^{re.escape(MARKS)}\n]+")


def intervals(record: Record) -> list[tuple[int, int]]:
    """The stretches of a record between marks and line ends, trimmed, empty ones dropped; no mark is inside."""
    text = record.content
    return [piece for match in _STRETCH.finditer(text) for piece in trimmed(text, *match.span())]
