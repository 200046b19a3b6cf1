"""Redaction by masked intervals and annotated spans together, and counts of what it removes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sm_ops.core.records import Record
from sm_ops.masking.redact import Interval
from sm_ops.masking.spans import intervals


def union(record: Record, masked: Sequence[Interval]) -> list[Interval]:
    """Masked intervals and annotated spans as disjoint intervals in order, in canonical coordinates."""
    both = [*masked, *((start, end) for start, end, _ in record.content_spans)]
    edges = np.array(both, np.int64).reshape(-1, 2)
    return intervals(edges[:, 0], edges[:, 1])


@dataclass
class Counts:
    """What was removed, in counts: characters, and annotated spans by label."""

    records: int = 0
    changed: int = 0
    intervals: int = 0
    removed: int = 0
    characters: int = 0
    spans: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    covered: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, record: Record, removed: Sequence[Interval]) -> None:
        """Count a record of which disjoint intervals in order are removed."""
        self.records += 1
        self.changed += bool(removed)
        self.intervals += len(removed)
        self.removed += sum(end - start for start, end in removed)
        self.characters += len(record.content)
        for start, end, label in record.content_spans:
            self.spans[label] += 1
            self.covered[label] += any(first <= start and end <= last for first, last in removed)

    @property
    def coverage(self) -> dict[str, int | None] | None:
        """Annotated spans that are removed whole, of all; None where nothing is annotated."""
        return _rate(sum(self.covered.values()), sum(self.spans.values())) if self.spans else None

    def told(self) -> dict[str, Any]:
        """All counts as JSON. A rate is `{k, n, low, high}`, without an interval: these are all spans, no sample."""
        return {
            "records": self.records,
            "changed": self.changed,
            "intervals": self.intervals,
            "characters": {"removed": self.removed, "all": self.characters},
            "spans": self.coverage,
            "by_label": {label: _rate(self.covered[label], n) for label, n in sorted(self.spans.items())},
        }


def _rate(k: int, n: int) -> dict[str, int | None]:
    return {"k": k, "n": n, "low": None, "high": None}
