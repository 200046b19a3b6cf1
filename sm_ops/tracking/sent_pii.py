"""What is sent of the PII pipeline's runs: aggregates alone, a child run for each way of finding PII."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures, Sent, step_seconds, with_interval

_TUNED = "tuned_"
_RATES = ("document_leak", "entity_leak", "over_redaction", "hallucination", "parse_success")


def _summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {"documents": results["documents"]["records"], **step_seconds(results)}


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    measures: Measures = {}
    for name in ("precision", "recall", "f1", *_RATES):
        measures |= with_interval(name, row[name])
    return measures


def _children(results: Json) -> list[Child]:
    """Each way of finding PII; a tuned extractor is one a seed."""
    return [Child(row["finder"], _measures(row), trained=_trained(row["finder"])) for row in results["rows"]]


def _trained(finder: str) -> dict[str, str]:
    seed = finder.removeprefix(_TUNED)
    return {} if seed == finder else {f"seed_{seed}": f"pii_tune@{seed}"}


SENT = Sent(
    title="Ways of finding PII",
    parameters=(
        "documents.seed", "documents.scale", "documents.train", "documents.validation", "documents.test",
        "tune.method", "tune.epochs", "tune.learning_rate", "tune.context", "extract.decoding",
    ),
    places=("documents.own.train", "documents.own.validation", "documents.own.test"),
    models=("base.name",),
    data=("pii_generate", ("train", "validation", "test")),
    columns=(
        Column("f1", "F1", share=True),
        Column("recall", "recall", share=True),
        Column("document_leak", "documents with a leak", share=True),
        Column("entity_leak", "values left", share=True),
        Column("over_redaction", "over-redaction", share=True),
    ),
    axes=("over_redaction", "document_leak"),
    summary=_summary,
    children=_children,
)  # fmt: skip
