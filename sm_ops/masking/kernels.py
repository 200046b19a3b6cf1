"""Token scores on the grid and the means of fixed windows, exact because all sums are sums of integers."""

from __future__ import annotations

import numpy as np

from sm_ops.core.compiled import compiled
from sm_ops.core.errors import InputError

GRID = 2.0**20
"""Scores are rounded to multiples of 1 / GRID nats, halves to even (OP-04)."""
_LARGEST = 2.0**20  # nats; keeps every sum of up to 8192 grid integers exact in float64


def grid_scores(scores: np.ndarray, eligible: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Token scores (float64 nats) as int64 multiples of 2^-20, and which are usable (bool).

    Usable: eligible and finite. Others are 0. Scores below 0 are kept (OP-07). Raises `InputError` for one beyond
    2^20 nats.
    """
    usable = eligible & np.isfinite(scores)
    known = np.where(usable, scores, 0.0)
    if np.any(np.abs(known) > _LARGEST):
        raise _out_of_range()
    return np.rint(known * GRID).astype(np.int64), usable


def mean_scores(scores: np.ndarray, eligible: np.ndarray, bounds: np.ndarray, n: int) -> np.ndarray:
    """The mean of the n scores from each position, in nats; NaN where no valid window starts (section 3).

    Valid: n positions of one record (`bounds`), all eligible and all with a finite score. The only rounding is that
    of the division. One running sum, O(N) whatever n. Raises `InputError` as `grid_scores` does.
    """
    means = np.full(len(scores), np.nan)
    if not _average(scores, eligible, bounds, n, means):
        raise _out_of_range()
    return means


def _out_of_range() -> InputError:
    return InputError(
        "logprob-range", "A log probability lies beyond 2^20 nats; check that scores are natural logarithms."
    )


def _average_by_prefix_sums(
    scores: np.ndarray, eligible: np.ndarray, bounds: np.ndarray, n: int, means: np.ndarray
) -> bool:
    grid, usable = grid_scores(scores, eligible)
    if len(scores) >= n:
        starts = np.arange(len(scores) - n + 1)
        in_one_record = starts + n <= np.repeat(bounds[1:], np.diff(bounds))[: len(starts)]
        starts = starts[in_one_record & (_sums(usable, n) == n)]
        means[starts] = _sums(grid, n)[starts] / n / GRID
    return True


def _sums(values: np.ndarray, n: int) -> np.ndarray:
    prefix = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return prefix[n:] - prefix[:-n]


@compiled(plain=_average_by_prefix_sums)
def _average(scores, eligible, bounds, n, means):
    in_range = True
    for record in range(len(bounds) - 1):
        total = run = 0
        for position in range(bounds[record], bounds[record + 1]):
            if not (eligible[position] and np.isfinite(scores[position])):
                total = run = 0
                continue
            in_range = in_range and abs(scores[position]) <= _LARGEST
            total += np.int64(np.rint(scores[position] * GRID))
            run += 1
            start = position - n + 1
            if run > n:
                total -= np.int64(np.rint(scores[start - 1] * GRID))
            if run >= n:
                means[start] = total / n / GRID
    return in_range
