"""Two oracles over all records: figures that any right evaluator gives for these data (G10); no model is judged."""

from __future__ import annotations

from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.pii.documents.checks.wellformed import Document
from sm_ops.pii.evaluation import evaluate


def judged(documents: list[Document]) -> dict[str, Any]:
    """The figures of gold as prediction and of empty predictions, each as rule G10 states it."""
    records = [document.record for document in documents]
    found = {
        "gold": _figures(records, [record["target_tsv"] for record in records]),
        "empty": _figures(records, ["" for _ in records]),
    }
    positives = sum(not record["negative"] for record in records) / len(records)
    rates = {
        "parse_success_rate": 1.0,
        "deterministic_rate": 1.0,
        "round_trip_rate": 1.0,
        "over_redaction_rate": 0.0,
        "hallucination_rate": 0.0,
    }
    wanted = {
        "gold": rates | {"f1": 1.0, "documents_leak_rate": 0.0, "entities_leak_rate": 0.0},
        "empty": rates | {"f1": 0.0, "documents_leak_rate": positives, "entities_leak_rate": 1.0},
    }
    for oracle, figures in wanted.items():
        for name, value in figures.items():
            if found[oracle][name] != value:
                raise StageError(
                    "pii-oracle",
                    f"The {oracle} oracle gives {name} {found[oracle][name]}, not {value}; data or evaluator is wrong.",
                )
    return found


def _figures(records: list[dict[str, Any]], predictions: list[str]) -> dict[str, float]:
    """Every flag is true: an empty output is usable, and gold rows stand in their source (R25)."""
    rows = [
        {"id": record["id"], "prediction": prediction, "parse_success": True}
        for record, prediction in zip(records, predictions, strict=True)
    ]
    result = evaluate(records, rows)
    return {
        "f1": result["entity"]["f1"],
        "documents_leak_rate": result["documents"]["leak_rate"],
        "entities_leak_rate": result["entities"]["leak_rate"],
        "over_redaction_rate": result["entities"]["over_redaction_rate"],
        "hallucination_rate": result["entities"]["hallucination_rate"],
        "parse_success_rate": result["parse"]["success_rate"],
        "deterministic_rate": result["tokenization"]["deterministic_rate"],
        "round_trip_rate": result["tokenization"]["round_trip_rate"],
    }
