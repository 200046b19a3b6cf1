"""What is sent of the rankings of whole outputs: aggregates alone, a child run for each score."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures, Sent, step_seconds, with_interval


def _summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {"pairs": sum(side["pairs"] for side in results["pairs"]["sides"].values()), **step_seconds(results)}


def _remark(results: Json) -> str:
    """The first caution, if there is one."""
    return next(iter(results["cautions"]), "")


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    found = {"validation_auroc": row["validation"]["auroc"]}
    found |= {name: row["application"][name] for name in ("auroc", "coverage", "collateral", "precision", "f1")}
    measures: Measures = {}
    for name, value in found.items():
        measures |= with_interval(name, value)
    return measures


def _children(results: Json) -> list[Child]:
    """Each score."""
    return [Child(row["score"], _measures(row)) for row in results["rows"]]


SENT = Sent(
    title="Whole outputs by surprise",
    parameters=("pairs.source", "pairs.share", "pairs.seed", "pairs.controls", "pairs.setting"),
    places=("pairs.validation", "pairs.application", "references.*.fit", "references.*.violating"),
    models=("references.*.model",),
    data=("rank_pairs", ("validation", "application", "clean")),
    columns=(
        Column("auroc", "AUROC"),
        Column("validation_auroc", "AUROC on validation"),
        Column("coverage", "risky outputs found", share=True),
        Column("collateral", "safe outputs taken along", share=True),
        Column("f1", "F1"),
    ),
    axes=("collateral", "coverage"),
    summary=_summary,
    children=_children,
    remark=_remark,
)
