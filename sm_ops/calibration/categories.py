"""Thresholds by category of the records: who belongs where, and which threshold a record uses (OP-25)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sm_ops.core.records import Record

POOLED = "pooled"


def names(records: Sequence[Record], key: str) -> list[str | None]:
    """Each record's category: a non-empty string or whole number under a key of its meta, or `None`."""
    found = [record.meta.get(key) for record in records]
    return [str(value) if isinstance(value, str | int) and value != "" else None for value in found]


def levels(thresholds: Mapping[str, Mapping[str, Any]], records: Sequence[Record], key: str) -> np.ndarray:
    """One level per record: its category's, or the pooled one; infinity where there is none (nothing is masked)."""
    taus = {name: each["tau"] for name, each in thresholds.items()}
    found = [taus[name if name in taus else POOLED] for name in names(records, key)]
    return np.array([np.inf if tau is None else tau for tau in found])
