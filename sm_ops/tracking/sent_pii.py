"""What is sent of the PII pipeline's runs: aggregates alone, a child run for each way of finding PII."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Json, Measures

PARAMETERS = (
    "documents.seed", "documents.scale", "documents.train", "documents.validation", "documents.test",
    "tune.method", "tune.epochs", "tune.learning_rate", "tune.context", "extract.decoding",
)  # fmt: skip
PLACES = ("documents.own.train", "documents.own.validation", "documents.own.test")
MODELS = ("base.name",)
ARTIFACTS = ("report.html", "results.json")
DATA = ("pii_generate", ("train", "validation", "test"))
_RATES = ("document_leak", "entity_leak", "over_redaction", "hallucination", "parse_success")


def summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {
        "documents": results["documents"]["records"],
        "step_seconds": sum(stage["seconds"] for stage in results["stages"]),
    }


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    measures: Measures = {}
    for name in ("precision", "recall", "f1", *_RATES):
        value = row[name]
        measures |= {name: value["value"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
    return measures


def children(results: Json) -> list[Child]:
    """Each way of finding PII; a tuned extractor is one a seed."""
    return [Child(row["finder"], _measures(row)) for row in results["rows"]]
