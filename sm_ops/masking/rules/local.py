"""Local rank: a window is compared with its neighbours in the same record (section 4, paper D.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sm_ops.masking.local_rank import local_rank


def select(scores: np.ndarray, *, bounds: np.ndarray, r_max: float | np.ndarray, radius: int) -> np.ndarray:
    """Windows whose rank in percent is below `r_max`; ties raise a rank and so protect."""
    return local_rank(scores, bounds, radius) < r_max


def levels(scores: np.ndarray, *, bounds: np.ndarray, radius: int) -> np.ndarray:
    """Minus the rank; NaN for a window that is invalid or has no neighbour."""
    return -local_rank(scores, bounds, radius)


def at(level: Any) -> dict[str, Any]:
    """The next float64 above the rank of that level, so that exactly ranks up to it are selected (OP-24)."""
    return {"r_max": np.nextafter(np.negative(level), np.inf)}
