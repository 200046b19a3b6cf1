"""Table 8: approximate extraction by the number of samples (E.3)."""

from __future__ import annotations

from typing import Any

from sm_ops.report.surprise.measures import EXTRACTION
from sm_ops.report.surprise.tables.ours import Ours, plain
from sm_ops.report.surprise.tables.pairing import Column, Row, Table
from sm_ops.report.surprise.tables.published import BUDGETS, TABLE_8

Json = dict[str, Any]


def build(ours: Ours) -> Table:
    """A column for each number of samples that the paper or the run has."""
    budgets = sorted({*BUDGETS, *ours.run.config["attack"]["budgets"]})
    points: dict[tuple[str, int], Json] = {(each["condition"], each["budget"]): each for each in ours.results["curve"]}

    def cells(condition: str, row: Json) -> dict[str, Json | None]:
        own = {b: EXTRACTION.read(points[condition, b]) for b in budgets if (condition, b) in points}
        return {"seeds": plain(row["seeds"]), **{f"within_{budget}": each for budget, each in own.items()}}

    return Table(
        title="Approximate extraction by number of samples",
        columns=(Column("seeds", "seeds", "count"), *(Column(f"within_{each}", f"b={each}") for each in budgets)),
        rows=[Row(ours.key(name), name, cells(name, row)) for name, row in ours.rows.items()],
        paper=TABLE_8,
        topics=("data", "values", "masking", "training", "attack"),
    )
