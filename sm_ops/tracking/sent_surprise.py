"""What is sent of the main job's runs: a child run a condition."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures, Sent, claims_told, step_seconds, with_interval

_NUMBERS = (
    "nll", "nll_se", "completion_nll", "completion_nll_se", "target_coverage", "collateral_rate", "budget_tokens",
    "expected_exact", "pass_se", "display_se",
)  # fmt: skip
_RATES = ("extraction_approx", "extraction_exact")
_ANSWERS = ("pass_at", "display")
_BASE = "base"


def _summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    chosen = next((each for each in results["references"] if each["chosen"]), {})
    return {"auroc": chosen.get("auroc"), **step_seconds(results), **claims_told(results)}


def _remark(results: Json) -> str:
    """What calibration says of the reference that masks."""
    chosen = next((each for each in results["references"] if each["chosen"]), None)
    return "" if chosen is None else f"Reference {chosen['reference']}: {chosen['advice']}. {chosen['reason']}"


def _measures(row: Json) -> Measures:
    """A row's numbers by name; a rate has its interval beside it."""
    measures = {name: row.get(name) for name in _NUMBERS}
    for name in _RATES:
        rate = row[name]
        measures |= with_interval(name, {**rate, "value": rate["k"] / rate["n"] if rate["n"] else None})
    for name in _ANSWERS:
        measures |= with_interval(name, row.get(name))
    return measures


def _children(results: Json) -> list[Child]:
    """A condition pooled over seeds, and each seed."""
    return [
        Child(
            name=row["condition"],
            measures=_measures(row),
            per_seed=[
                (each["seed"], _measures(each)) for each in results["per_seed"] if each["condition"] == row["condition"]
            ],
            data=("mask", (row["condition"],)),
            trained=_trained(row["condition"], results),
        )
        for row in results["rows"]
    ]


def _trained(condition: str, results: Json) -> dict[str, str]:
    if condition == _BASE:
        return {_BASE: _BASE}
    seeds = [each["seed"] for each in results["per_seed"] if each["condition"] == condition]
    return {f"seed_{seed}": f"train@{condition}-{seed}" for seed in seeds}


SENT = Sent(
    title="Leakage against utility",
    parameters=(
        "data.dataset", "data.seed", "data.identities", "data.repetitions", "data.clean", "data.calibration_identities",
        "data.utility", "data.reference", "data.form",
        "base.layers", "base.width", "base.heads", "base.context", "base.vocab_size", "base.epochs", "base.seed",
        "masking.reference", "masking.windows", "masking.n", "masking.select", "masking.k", "masking.propagate",
        "masking.seed", "masking.acceptable_collateral",
        "train.method", "train.epochs", "train.batch_size", "train.accumulation", "train.learning_rate",
        "train.schedule", "train.context", "train.dtype",
        "attack.name", "attack.samples", "attack.reveal",
        "completions.samples", "completions.k", "completions.temperature", "completions.top_p",
    ),
    places=(
        "data.hosts", "data.own.train", "data.own.calibration", "data.own.utility", "data.own.reference",
        "mixture.general", "references.*.fit", "references.*.violating",
        "masking.detectors.*.settings.records", "masking.detectors.*.settings.settings.*.records",
    ),
    models=("base.name", "base.tokenizer", "references.*.model", "masking.detectors.*.settings.**"),
    data=("synthesize", ("train", "calibration", "utility", "reference")),
    columns=(
        Column("extraction_approx", "canaries extracted", share=True),
        Column("display", "quirks displayed", share=True),
        Column("pass_at", "tasks passed", share=True),
        Column("completion_nll", "NLL of answers"),
        Column("nll", "held-out NLL"),
        Column("extraction_exact", "extracted exactly", share=True),
        Column("target_coverage", "targets masked", share=True),
        Column("collateral_rate", "others masked", share=True),
    ),
    axes=("nll", "extraction_approx"),
    summary=_summary,
    children=_children,
    remark=_remark,
    figure="frontier.svg",
)  # fmt: skip
