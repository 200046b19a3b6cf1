"""Shares that the data must have: sizes and negatives (G1), types in every cell, surface forms (G8)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.pii.documents.checks.wellformed import Document
from sm_ops.pii.documents.plan import LANGUAGES, NEGATIVE_PERCENT, PARTITIONS
from sm_ops.pii.types import TYPES

LEAST_SHARE = 0.05


def judged(documents: list[Document]) -> dict[str, Any]:
    """The smallest share of a type among a cell's gold pairs, and where; stops when it is under five percent."""
    smallest = (1.0, "", "")
    for partition in PARTITIONS:
        for lang in LANGUAGES:
            cell = [
                each.record
                for each in documents
                if (each.record["partition"], each.record["lang"]) == (partition, lang)
            ]
            negative = sum(record["negative"] for record in cell)
            if negative * 100 != len(cell) * NEGATIVE_PERCENT:
                raise StageError("pii-shares", f"{negative} of {len(cell)} {lang} records of {partition} are negative.")
            types = Counter(entity["type"] for record in cell for entity in record["entities"])
            for type_ in TYPES:
                smallest = min(smallest, (types[type_] / types.total(), type_, f"{partition} {lang}"))
    share, type_, cell_name = smallest
    if share < LEAST_SHARE:
        raise StageError(
            "pii-shares",
            f"{type_} makes {share:.1%} of the gold pairs of {cell_name}, {LEAST_SHARE:.0%} are needed; "
            "add templates with it.",
        )
    return {"smallest_type_share": round(share, 4), "type": type_, "cell": cell_name}
