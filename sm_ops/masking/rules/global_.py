"""The global rule: one threshold on the score of a window, for the whole corpus (section 4, paper D.1)."""

from __future__ import annotations

from typing import Any

import numpy as np


def select(scores: np.ndarray, *, tau: float | np.ndarray) -> np.ndarray:
    """Windows with a score of at least `tau` nats; equality selects, an invalid window never is."""
    return scores >= tau


def levels(scores: np.ndarray) -> np.ndarray:
    """The score itself, in nats."""
    return scores


def at(level: Any) -> dict[str, Any]:
    """The threshold is the level."""
    return {"tau": level}
