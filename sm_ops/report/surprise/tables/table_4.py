"""Table 4: what operating points cover on validation and in training, and how well the one tells the other (C.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sm_ops.metrics import pearson
from sm_ops.report.surprise.tables.ours import Ours, plain
from sm_ops.report.surprise.tables.pairing import Column, Row, Table
from sm_ops.report.surprise.tables.published import CORRELATION_OVER, TABLE_4

Json = dict[str, Any]

COLUMNS = (
    Column("validation_coverage", "validation target recall", digits=2),
    Column("training_coverage", "training target recall", digits=2),
    Column("masked_tokens", "masked tokens", "count"),
    Column("validation_collateral", "collateral in validation", digits=2),
    Column("training_collateral", "collateral in training", digits=2),
)
PAIRS = {
    "target_coverage": ("validation_coverage", "training_coverage"),
    "collateral_rate": ("validation_collateral", "training_collateral"),
}
"""What is correlated between validation and training (3.1)."""


def build(ours: Ours) -> Table:
    """Every operating point of the run."""
    points = ours.results["operating_points"]
    title = {"code_pii": "Code PII", "code_quirks": "Code Quirks"}[str(ours.dataset)]
    return Table(
        title=f"{title} operating points, {ours.regime}",
        columns=COLUMNS,
        rows=[Row(point["condition"], point["condition"], _cells(point, ours)) for point in points],
        paper=TABLE_4[ours.regime] if ours.dataset == "code_pii" else {},
        topics=("data", "values", "masking") if ours.dataset == "code_pii" else ("data", "masking"),
        more={"correlations": correlations(points)},
    )


def correlations(points: list[Json]) -> list[Json]:
    """Pearson's r between validation and training over points: `{measure, value, points, paper_over}`."""
    found = []
    for measure, sides in PAIRS.items():
        known = [pair for point in points if None not in (pair := tuple(point[side] for side in sides))]
        x, y = np.array(known, float).reshape(-1, 2).T
        found.append(
            {
                "measure": measure,
                "value": pearson(x, y),
                "points": len(known),
                "paper_over": CORRELATION_OVER[measure],
            }
        )
    return found


def _cells(point: Json, ours: Ours) -> dict[str, Json | None]:
    validation = plain(point["validation_coverage"])
    if validation is not None:
        validation |= {"low": point["validation_low"], "high": point["validation_high"]}
    row = ours.rows.get(point["condition"], {})
    return {
        "validation_coverage": validation,
        "training_coverage": plain(point["training_coverage"]),
        "masked_tokens": plain(row.get("budget_tokens")),
        "validation_collateral": plain(point["validation_collateral"]),
        "training_collateral": plain(point["training_collateral"]),
    }
