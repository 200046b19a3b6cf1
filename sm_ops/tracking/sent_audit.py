"""What is sent of a leakage audit's runs: aggregates alone, a child run for each defence and for the base model."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures, Sent, claims_told, step_seconds, with_interval

_BASE = "base"


def _summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {**step_seconds(results), **claims_told(results)}


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    measures: Measures = {"epsilon": row["epsilon"], "delta": row["delta"]}
    for name, each in {"perplexity": row["perplexity"], **row["leakage"]}.items():
        if each is not None:
            measures |= {**with_interval(name, each), f"{name}_se": each["se"]}
    return measures


def _children(results: Json) -> list[Child]:
    """Each defence over seeds, and each seed."""
    return [
        Child(
            name=row["defence"],
            measures=_measures(row),
            per_seed=[
                (each["seed"], _measures(each)) for each in results["per_seed"] if each["defence"] == row["defence"]
            ],
            trained=_trained(row["defence"], results),
        )
        for row in results["rows"]
    ]


def _trained(defence: str, results: Json) -> dict[str, str]:
    if defence == _BASE:
        return {_BASE: _BASE}
    seeds = [each["seed"] for each in results["per_seed"] if each["defence"] == defence]
    return {f"seed_{seed}": f"audit_train@{defence}-{seed}" for seed in seeds}


SENT = Sent(
    title="Leakage by defence",
    parameters=(
        "data.corpus", "data.unit", "data.seed", "data.documents",
        "base.layers", "base.width", "base.heads", "base.context", "base.vocab_size", "base.epochs", "base.seed",
        "train.method", "train.epochs", "train.batch_size", "train.learning_rate", "train.context", "train.patience",
        "masking.target", "masking.goldfish", "deduplicate.threshold", "shadows.count", "filling.how",
    ),
    places=("data.path", "data.public"),
    models=("base.name", "base.tokenizer", "filling.model"),
    data=("audit_data", ("train", "others", "validation", "public", "reference")),
    columns=(
        Column("membership", "membership AUC"),
        Column("extraction", "extraction recall", share=True),
        Column("inference", "inference accuracy", share=True),
        Column("reconstruction", "reconstruction accuracy", share=True),
        Column("perplexity", "perplexity"),
        Column("epsilon", "epsilon"),
    ),
    axes=("perplexity", "membership"),
    summary=_summary,
    children=_children,
    figure="leakage.svg",
)  # fmt: skip
