"""What is sent of runs of rewriting: aggregates alone, a child run for each condition."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures

TITLE = "Rewriting beside masking"
PARAMETERS = ("data.benchmark", "data.levels", "data.documents", "data.seed")
PLACES = (
    "data.path", "data.validation", "data.population", "references.*.fit", "references.*.violating", "endpoints.*.url",
    "selectors.*.settings",
)  # fmt: skip
MODELS = ("references.*.model", "endpoints.*.model")
FIGURE = None
ARTIFACTS = ("report.html", "results.json")
DATA = ("rewrite_data", ("validation", "records", "clean"))
COLUMNS = (
    Column("security", "security", share=True),
    Column("utility", "utility"),
    Column("usd", "USD/M source tokens"),
    Column("calls", "calls"),
)
AXES = ("utility", "security")


def summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {
        "documents": results["data"]["documents"]["records"],
        "step_seconds": sum(stage["seconds"] for stage in results["stages"]),
    }


def remark(results: Json) -> str:
    """The first of what the run shows."""
    return next(iter(results["sentences"]), "")


def children(results: Json) -> list[Child]:
    """Each condition that was applied."""
    return [Child(row["condition"], _measures(row)) for row in results["rows"] if row["applied"]]


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "usd", "selector_usd", "unjudged")
    measures: Measures = {name: row[name] for name in names}
    for name in ("security", "utility"):
        value = row[name] or {"value": None, "low": None, "high": None}
        measures |= {name: value["value"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
    return measures
