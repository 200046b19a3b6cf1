"""The splitmix64 finaliser, the one source of pseudo-randomness of the baselines (OP-26)."""

from __future__ import annotations

import numpy as np


def mix(z: np.ndarray) -> np.ndarray:
    """Mix uint64 arrays (at least one-dimensional) modulo 2^64; mix(0) = 0xE220A8397B1DCDAF."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def seeded(seed: int) -> np.ndarray:
    """mix(seed) as a uint64 array of length one."""
    return mix(np.array([seed % 2**64], np.uint64))
