"""Table 10: Code Quirks pretraining (E.4)."""

from __future__ import annotations

from sm_ops.report.surprise.measures import DISPLAY, NLL, likelihood_of, sampled
from sm_ops.report.surprise.tables.ours import Ours
from sm_ops.report.surprise.tables.pairing import Column, Table
from sm_ops.report.surprise.tables.published import TABLE_10

_POOLED = "the NLL pools all tokens of the held-out records here; the paper's is the mean over completions"


def build(ours: Ours) -> Table:
    """Display, and the NLL of the held-out completions (OP-33), or of the records where that was not measured."""
    likelihood = likelihood_of(ours.rows.values())
    return Table(
        title="Code Quirks pretraining",
        columns=(
            Column("display", f"quirk display@{sampled(ours.rows.values(), 'display') or 5}", digits=2),
            Column("nll", "development NLL", "number", 4),
            Column("seeds", "seeds", "count"),
        ),
        rows=ours.every(display=DISPLAY, nll=likelihood),
        paper=TABLE_10,
        topics=("data", "masking", "training", "display", "nll"),
        remarks=(_POOLED,) if likelihood is NLL else (),
    )
