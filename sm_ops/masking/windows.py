"""Fixed-width windows and their scores, exact on every machine because all sums are sums of integers."""

from __future__ import annotations

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.masking.corpus import Corpus

GRID_BITS = 20
_LARGEST_LOGPROB = 2.0**20  # nats; keeps every sum of up to 8192 grid integers exact in float64


def window_starts(bounds: np.ndarray, n: int) -> np.ndarray:
    """Flat positions from which n positions lie in one record, eligible or not; increasing int64."""
    lengths = np.diff(bounds)
    positions = np.arange(bounds[-1])
    return positions[positions + n <= np.repeat(bounds[1:], lengths)]


def window_scores(corpus: Corpus, n: int) -> np.ndarray:
    """Mean surprise in nats of the n positions from each start; NaN where no valid window starts (section 3).

    Log probabilities are rounded to multiples of 2^-20, half to even (OP-04), and summed as integers by one
    prefix sum, so equal windows tie exactly; the only rounding is that of the division. A window is valid
    when its n positions lie in one record, are all eligible and all have a finite score (OP-09). Positive log
    probabilities are kept (OP-07). Raises `InputError` for a log probability beyond 2^20 nats.
    """
    usable = corpus.eligible & np.isfinite(corpus.logprobs)
    logprobs = np.where(usable, corpus.logprobs, 0.0)
    if np.any(np.abs(logprobs) > _LARGEST_LOGPROB):
        raise InputError(
            "logprob-range", "A log probability lies beyond 2^20 nats; check that scores are natural logarithms."
        )
    grid = np.rint(np.ldexp(logprobs, GRID_BITS)).astype(np.int64)
    starts = window_starts(corpus.bounds, n)
    starts = starts[_sums(~usable, starts, n) == 0]
    scores = np.full(len(corpus), np.nan)
    scores[starts] = np.ldexp(_sums(-grid, starts, n) / n, -GRID_BITS)
    return scores


def _sums(values: np.ndarray, starts: np.ndarray, n: int) -> np.ndarray:
    prefix = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return prefix[starts + n] - prefix[starts]
