"""Overlapping windows vote on each position."""

from __future__ import annotations

import numpy as np


def votes(selected: np.ndarray, n: int) -> np.ndarray:
    """How many of the windows of width n that start where `selected` is true hold each position."""
    change = np.zeros(len(selected) + n, np.int32)
    change[: len(selected)] += selected
    change[n:] -= selected
    return np.cumsum(change, dtype=np.int32)[: len(selected)]


def consensus(selected: np.ndarray, n: int, k: int) -> np.ndarray:
    """Positions that at least k selected windows hold (section 4); k = 1 is the union."""
    return votes(selected, n) >= k
