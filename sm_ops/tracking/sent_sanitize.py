"""What is sent of sanitizations: aggregates alone, a child run for each filter."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures, Sent, step_seconds, with_interval

_COLUMNS = (
    Column("auroc", "AUROC"),
    Column("tpr", "targets covered", share=True),
    Column("fpr", "other content masked", share=True),
    Column("precision", "precision", share=True),
    Column("f1", "F1", share=True),
    Column("coverage", "covered at the acceptable rate", share=True),
)
_SIDES = ("application", "validation")
_NAMES = tuple(column.measure for column in _COLUMNS)


def _summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {
        "filters": len({row["filter"] for row in results["rows"]}),
        "suitable": sum(row["decision"] == "suitable" for row in results["rows"] if row["fold"] == "0"),
        **step_seconds(results),
    }


def _remark(results: Json) -> str:
    """Which filter to take, and why."""
    return results["choice"]["reason"]


def _children(results: Json) -> list[Child]:
    """Each filter of each fold: what it does on the application side, or where that is not labelled on validation."""
    several = len({row["fold"] for row in results["rows"]}) > 1
    return [
        Child(f"{row['filter']}-{row['fold']}" if several else row["filter"], _measures(row)) for row in results["rows"]
    ]


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    shown = next(row[side] for side in _SIDES if row[side] is not None)
    point = shown["attainable"]
    measures: Measures = {}
    for name, value in {**shown, "coverage": point and point["coverage"]}.items():
        if value is not None and name in _NAMES:
            measures |= with_interval(name, value)
    return measures


SENT = Sent(
    title="Filters of a corpus",
    parameters=(
        "corpus.name", "corpus.folds", "corpus.seed", "unit", "threshold_folds", "acceptable_collateral", "coverage",
        "use",
    ),
    places=(
        "corpus.validation", "corpus.records", "corpus.families", "references.*.fit", "references.*.violating",
        "filters.*.settings.records", "filters.*.settings.settings.*.records",
    ),
    models=("references.*.model", "filters.*.settings.**", "corpus.settings.**"),
    data=("san_corpus", ("validation-0", "records-0")),
    columns=_COLUMNS,
    axes=("fpr", "tpr"),
    summary=_summary,
    children=_children,
    remark=_remark,
)  # fmt: skip
