"""Labels of a corpus to be sanitized: targets with their categories, what is left out of all counts, and clusters.

A record's spans are targets and their labels the categories. `meta.left_out`, a list of `[start, end]` in canonical
coordinates, names what is neither target nor other content (an ambiguous credential). Everything else is other content.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.core.records import Record

LEFT_OUT = "left_out"


def left_out(record: Record) -> list[tuple[int, int]]:
    """The intervals that no count may hold, except where a target covers them, too."""
    return [(start, end) for start, end in record.meta.get(LEFT_OUT, [])]


def categories(records: Sequence[Record]) -> list[str]:
    """The categories of all targets, in order."""
    return sorted({label for record in records for _, _, label in record.content_spans})


def clusters(records: Sequence[Record]) -> np.ndarray:
    """A number for each record: of its group (repository, document, template), or of its own where it has none."""
    keys = [(index, None) if record.group is None else (None, record.group) for index, record in enumerate(records)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)
