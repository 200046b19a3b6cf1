"""The grid of log probabilities: multiples of 2^-20 nats, on which sums are exact (OP-04)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

STEPS_PER_NAT = 2.0**20


def to_grid(logprobs: ArrayLike) -> np.ndarray:
    """The nearest multiples of 2^-20 nats as float64, halves to even; NaN and infinities stay as they are."""
    return np.rint(np.asarray(logprobs, dtype=np.float64) * STEPS_PER_NAT) / STEPS_PER_NAT
