"""Overlapping windows of width n, each numbered by its first position, vote on each position."""

from __future__ import annotations

import numpy as np

from sm_ops.core.compiled import compiled

_BLOCK = 1 << 15


def votes(selected: np.ndarray, n: int) -> np.ndarray:
    """How many of the windows of width n that start where `selected` is true hold each position (int32)."""
    count = np.empty(len(selected), np.int32)
    _count(selected, n, count)
    return count


def consensus(selected: np.ndarray, n: int, k: int) -> np.ndarray:
    """Positions that at least k selected windows hold (section 4); k = 1 is the union."""
    return votes(selected, n) >= k


def kth_largest(levels: np.ndarray, n: int, k: int) -> np.ndarray:
    """The k-th largest of the n levels (minus infinity = invalid) whose windows hold each position (section 8)."""
    kth = np.empty(len(levels))
    _select(levels, n, k, np.full(n, -np.inf), kth)
    return kth


def _count_by_differences(selected: np.ndarray, n: int, count: np.ndarray) -> None:
    change = selected.astype(np.int32)
    change[n:] -= selected[: max(len(selected) - n, 0)]
    np.cumsum(change, out=count)


@compiled(plain=_count_by_differences)
def _count(selected, n, count):
    running = 0
    for position in range(len(selected)):
        running += selected[position]
        if position >= n:
            running -= selected[position - n]
        count[position] = running


def _select_by_blocks(levels: np.ndarray, n: int, k: int, holding: np.ndarray, kth: np.ndarray) -> None:
    padded = np.concatenate([holding[1:], levels])
    rows = np.lib.stride_tricks.sliding_window_view(padded, len(levels))  # one per distance to the start
    for start in range(0, len(levels), _BLOCK):
        block = rows[:, start : start + _BLOCK]
        kth[start : start + _BLOCK] = np.partition(block, n - k, axis=0)[n - k]


@compiled(plain=_select_by_blocks)
def _select(levels, n, k, holding, kth):
    """`holding` has the levels of the n windows that hold a position, increasing; one leaves, one enters."""
    for position in range(len(levels)):
        leaving = levels[position - n] if position >= n else -np.inf
        entering = levels[position]
        place = 0
        while place + 1 < n and holding[place] != leaving:
            place += 1
        while place + 1 < n and holding[place + 1] < entering:
            holding[place] = holding[place + 1]
            place += 1
        while place > 0 and holding[place - 1] > entering:
            holding[place] = holding[place - 1]
            place -= 1
        holding[place] = entering
        kth[position] = holding[n - k]
