"""The global rule: one threshold on the mean surprise of a window, for the whole corpus (section 4)."""

from __future__ import annotations

import numpy as np


def select(scores: np.ndarray, *, tau: float) -> np.ndarray:
    """Windows with a mean surprise of at least `tau` nats; equality selects, an invalid window never is."""
    return scores >= tau


def levels(scores: np.ndarray) -> np.ndarray:
    """The mean surprise itself, in nats."""
    return scores
