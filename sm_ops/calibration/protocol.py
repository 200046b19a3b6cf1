"""The paper's protocol for a new data set: try the rule of its kind of content, compare, choose, verify.

Code gets one threshold, agreement of overlapping windows and propagation; mixed text gets a rank among neighbours
(paper, section 7 and Table 5). Both are judged at the user's acceptable collateral masking rate on one half of the
labelled units; the chosen threshold is then verified by the complete procedure on the other half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record

_COMMON = {"windows": "fixed", "agg": "mean", "radius": 32, "propagate": "group", "prop_n": None}
CANDIDATES = {
    "code": {**_COMMON, "select": "global", "n": 4, "k": 4},
    "mixed text": {**_COMMON, "select": "local", "n": 2, "k": 2},
}
"""Rules by kind of content (paper, Table 5)."""


def halves(records: Sequence[Record]) -> tuple[list[int], list[int]]:
    """Two disjoint sets of record numbers: no group is in both, and each holds half of those with targets.

    Which half a group falls into depends on its name alone (by digest), not on the order of the records. Records
    without a group stand for themselves. Raises `InputError` for fewer than two units with targets.
    """
    units: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        units.setdefault(f"group {record.group}" if record.group is not None else f"record {record.id}", []).append(
            number
        )
    labelled = {name for name, numbers in units.items() if any(records[number].spans for number in numbers)}
    if len(labelled) < 2:
        raise InputError(
            "too-few-units",
            "Choosing and verifying a rule takes targets of at least two groups (or records without a group); "
            "label more, or give a second file to verify on.",
        )
    chosen: list[int] = []
    for part in (labelled, units.keys() - labelled):
        ordered = sorted(part, key=lambda name: hashlib.blake2b(name.encode()).digest())
        chosen += [number for name in ordered[::2] for number in units[name]]
    taken = set(chosen)
    return sorted(chosen), [number for number in range(len(records)) if number not in taken]


def best(judged: dict[str, dict[str, Any]]) -> str:
    """The candidate of the largest coverage at the acceptable collateral rate; the first of equals.

    One under which targets are no more surprising than the rest (AUROC up to one half) comes last.
    """

    def merit(name: str) -> tuple[bool, float]:
        return (judged[name]["auroc"] or 0.0) > 0.5, judged[name]["acceptable"]["target_coverage"] or 0.0

    return max(judged, key=merit)
