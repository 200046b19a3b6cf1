"""Table 4: what operating points cover on validation and in training, and how well the one tells the other (C.1)."""

from __future__ import annotations

from typing import Any

from sm_ops.report.surprise.tables.ours import Ours, plain
from sm_ops.report.surprise.tables.pairing import Column, Row, Table
from sm_ops.report.surprise.tables.published import TABLE_4
from sm_ops.report.surprise.tables.validation import both_sides, correlation

Json = dict[str, Any]

COLUMNS = (
    Column("validation_coverage", "validation target recall", digits=2),
    Column("training_coverage", "training target recall", digits=2),
    Column("masked_tokens", "masked tokens", "count"),
    Column("validation_collateral", "collateral in validation", digits=2),
    Column("training_collateral", "collateral in training", digits=2),
)
_TRAINING = {"target_coverage": "training_coverage", "collateral_rate": "training_collateral"}


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
        more={
            "correlations": [
                correlation(both_sides(points, measure, side), measure, side) for measure, side in _TRAINING.items()
            ]
        },
    )


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
