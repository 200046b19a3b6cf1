"""Checks of a finished data set; each stops the run with a `StageError` (G9 to G12)."""

from __future__ import annotations

from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.pii.documents.checks import disjoint, oracle, shares, values
from sm_ops.pii.documents.checks.wellformed import Document


def judge_values(document: Document) -> None:
    """Stop the run at a value of a record that could be somebody's (G12), told without it; the build has seen to G9."""
    for fault in values.faults(document):
        record = document.record
        raise StageError("pii-value", f"Record {record['id']} of template {record['template_id']}: {fault}.")


def judged(documents: list[Document]) -> dict[str, Any]:
    """Run the checks of all records together and return what they and the others counted."""
    return {
        "G9": {"records": len(documents), "hard_cases": sum(len(document.hard) for document in documents)},
        "G10": oracle.judged(documents),
        "G11": disjoint.judged(documents),
        "G12": values.counted(documents),
        "shares": shares.judged(documents),
    }
