"""What is sent of the rankings of whole outputs: aggregates alone, a child run for each score."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures

TITLE = "Whole outputs by surprise"
PARAMETERS = ("pairs.source", "pairs.share", "pairs.seed", "pairs.controls", "pairs.setting")
PLACES = ("pairs.validation", "pairs.application", "references.*.fit", "references.*.violating")
MODELS = ("references.*.model",)
FIGURE = None
ARTIFACTS = ("report.html", "results.json")
DATA = ("rank_pairs", ("validation", "application", "clean"))
COLUMNS = (
    Column("auroc", "AUROC"),
    Column("validation_auroc", "AUROC on validation"),
    Column("coverage", "risky outputs found", share=True),
    Column("collateral", "safe outputs taken along", share=True),
    Column("f1", "F1"),
)
AXES = ("collateral", "coverage")


def summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {
        "pairs": sum(side["pairs"] for side in results["pairs"]["sides"].values()),
        "step_seconds": sum(stage["seconds"] for stage in results["stages"]),
    }


def remark(results: Json) -> str:
    """The first caution, if there is one."""
    return next(iter(results["cautions"]), "")


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    found = {"validation_auroc": row["validation"]["auroc"]}
    found |= {name: row["application"][name] for name in ("auroc", "coverage", "collateral", "precision", "f1")}
    measures: Measures = {}
    for name, value in found.items():
        measures |= {name: value["value"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
    return measures


def children(results: Json) -> list[Child]:
    """Each score."""
    return [Child(row["score"], _measures(row)) for row in results["rows"]]
