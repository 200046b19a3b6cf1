"""What is sent of runs of rewriting: aggregates alone, a child run for each condition."""

from __future__ import annotations

from sm_ops.tracking.sent import Child, Column, Json, Measures, Sent, step_seconds, with_interval


def _summary(results: Json) -> Measures:
    """Numbers of the run as a whole."""
    return {"documents": results["data"]["documents"]["records"], **step_seconds(results)}


def _remark(results: Json) -> str:
    """The first of what the run shows."""
    return next(iter(results["sentences"]), "")


def _children(results: Json) -> list[Child]:
    """Each condition that was applied."""
    return [Child(row["condition"], _measures(row)) for row in results["rows"] if row["applied"]]


def _measures(row: Json) -> Measures:
    """A row's numbers by name; what has an interval has it beside it."""
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "usd", "selector_usd", "unjudged")
    measures: Measures = {name: row[name] for name in names}
    for name in ("security", "utility"):
        measures |= with_interval(name, row[name])
    return measures


SENT = Sent(
    title="Rewriting beside masking",
    parameters=("data.benchmark", "data.levels", "data.documents", "data.seed"),
    places=(
        "data.path", "data.validation", "data.population", "references.*.fit", "references.*.violating",
        "endpoints.*.url", "selectors.*.settings",
    ),
    models=("references.*.model", "endpoints.*.model"),
    data=("rewrite_data", ("validation", "records", "clean")),
    columns=(
        Column("security", "security", share=True),
        Column("utility", "utility"),
        Column("usd", "USD/M source tokens"),
        Column("calls", "calls"),
    ),
    axes=("utility", "security"),
    summary=_summary,
    children=_children,
    remark=_remark,
)  # fmt: skip
