"""Table 6: seven interventions on one selection (E.1)."""

from __future__ import annotations

from typing import Any

from sm_ops.masking.conditions import UNMASKED
from sm_ops.report.surprise.measures import EXTRACTION, PASS, likelihood_of, sampled
from sm_ops.report.surprise.tables.ours import EXACT, Ours, plain
from sm_ops.report.surprise.tables.pairing import Column, Row, Table
from sm_ops.report.surprise.tables.published import TABLE_6

Json = dict[str, Any]

_ACTIONS = {
    UNMASKED: "unmasked",
    "loss": "mask loss only",
    "attention": "mask attention only",
    "both": "mask loss and attention",
    "clip": "clip selected gradients",
    "scale": "scale selected gradients by 0.25",
    "drop": "filter whole examples",
}
_PAPERS_POINT = "SM95"


def build(ours: Ours) -> Table:
    """Pass@k, or NLL beside the paper's pass@5 where no answer was run."""
    k = sampled(ours.rows.values(), "pass_at")
    utility = () if k else (Column("nll", likelihood_of(ours.rows.values()).short, "number", 4),)
    columns = (
        Column("approx", "approximate extraction"),
        Column("exact", "exact extraction"),
        Column("pass_at", f"pass@{k or 5}"),
        *utility,
        Column("multiplier", "mean multiplier", "number", 4),
        Column("passes", "effective passes", "number", 2),
        Column("records", "records kept", "count"),
        Column("seeds", "seeds", "count"),
    )
    conditions = {UNMASKED: UNMASKED, **ours.actions}
    rows = [Row(action, condition, _cells(condition, ours)) for action, condition in conditions.items()]
    other = (f"interventions are compared at {ours.highest} here, at {_PAPERS_POINT} in the paper",)
    return Table(
        title=f"Interventions on the selection of {ours.highest}",
        columns=columns,
        rows=rows,
        paper=TABLE_6,
        topics=("data", "values", "masking", "training", "attack", "pass"),
        titles=_ACTIONS,
        remarks=() if ours.highest == _PAPERS_POINT else other,
    )


def _cells(condition: str, ours: Ours) -> dict[str, Json | None]:
    row = ours.rows[condition]
    trained = next((each for each in ours.results["trainings"] if each["condition"] == condition), {})
    return {
        "approx": ours.cell(EXTRACTION, row),
        "exact": ours.cell(EXACT, row),
        "pass_at": ours.cell(PASS, row),
        "nll": ours.cell(likelihood_of(ours.rows.values()), row),
        "multiplier": plain(trained.get("mean_multiplier"), trained.get("mean_multiplier_se")),
        "passes": plain(trained.get("effective_passes"), trained.get("effective_passes_se")),
        "records": plain(trained.get("records")),
        "seeds": plain(row["seeds"]),
    }
