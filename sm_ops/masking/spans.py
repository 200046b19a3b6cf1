"""Masked tokens as character intervals."""

from __future__ import annotations

import numpy as np


def intervals(starts: np.ndarray, ends: np.ndarray) -> list[tuple[int, int]]:
    """`merged`, as pairs."""
    return list(zip(*(edges.tolist() for edges in merged(starts, ends)), strict=True))


def merged(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The union of half-open intervals as disjoint ones in order, touching ones joined, empty ones left out."""
    full = ends > starts
    order = np.argsort(starts[full], kind="stable")
    starts, ends = starts[full][order], np.maximum.accumulate(ends[full][order])
    opens = np.append(True, starts[1:] > ends[:-1])[: len(starts)]
    closes = np.append(opens[1:], True)[: len(starts)]
    return starts[opens], ends[closes]
