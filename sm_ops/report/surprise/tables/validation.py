"""How well validation tells what masks cover in training: what is correlated, and Pearson's r of it (3.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sm_ops.metrics import pearson
from sm_ops.report.surprise.tables.published import CORRELATION_OVER

Json = dict[str, Any]

VALIDATED = {"target_coverage": "validation_coverage", "collateral_rate": "validation_collateral"}
"""What masks do in training, and what a point calls the same on validation records."""
TITLES = {"target_coverage": "target coverage", "collateral_rate": "collateral masking rate"}


def both_sides(points: Iterable[Json], measure: str, training: str) -> list[Json]:
    """The points that know a measure on validation and, under the name `training`, in training."""
    return [point for point in points if None not in (point[VALIDATED[measure]], point[training])]


def correlation(points: list[Json], measure: str, training: str) -> Json:
    """`{measure, value, points, paper_over}` over points that know both sides; undefined under two of them."""
    x, y = (np.array([point[side] for point in points], float) for side in (VALIDATED[measure], training))
    return {
        "measure": measure,
        "value": pearson(x, y),
        "points": len(points),
        "paper_over": CORRELATION_OVER[measure],
    }
