"""Table 9: Code Quirks fine-tuning (E.4)."""

from __future__ import annotations

from sm_ops.report.surprise.measures import DISPLAY, PASS, sampled
from sm_ops.report.surprise.tables.ours import Ours
from sm_ops.report.surprise.tables.pairing import Column, Table
from sm_ops.report.surprise.tables.published import TABLE_9


def build(ours: Ours) -> Table:
    """Display and executed answers of every condition."""
    shown, passed = (sampled(ours.rows.values(), name) or 5 for name in ("display", "pass_at"))
    return Table(
        title="Code Quirks fine-tuning",
        columns=(
            Column("display", f"quirk display@{shown}", digits=2),
            Column("pass_at", f"executable pass@{passed}", digits=2),
            Column("seeds", "seeds", "count"),
        ),
        rows=ours.every(display=DISPLAY, pass_at=PASS),
        paper=TABLE_9,
        topics=("data", "masking", "training", "pass", "display"),
    )
