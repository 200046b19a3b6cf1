"""Intervals of ratios of sums, by resampling whole clusters (documents, repositories), never their parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

RESAMPLES = 2000
MOST = 1000
FEWEST = 5
"""Clusters under which a correlation gets no interval: too few to resample (choice T-3)."""


def ratio_interval(
    parts: np.ndarray, wholes: np.ndarray, seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of `parts.sum() / wholes.sum()`, with one number of each per cluster.

    Precision, recall and F1 = 2TP / (2TP + FP + FN) are such ratios. Resamples whose whole is 0 are left out. `None`
    where the ratio is undefined, or where all resamples agree: then a bootstrap says nothing of the error.
    """
    return ratio_intervals([(parts, wholes)], seed, confidence)[0]


def ratio_intervals(
    ratios: Sequence[tuple[np.ndarray, np.ndarray]], seed: int, confidence: float = 0.95
) -> list[tuple[float, float] | None]:
    """`ratio_interval` of several ratios over the same clusters, in the same resamples."""
    sums = _resampled(np.array([each for ratio in ratios for each in ratio]), seed)
    return [_percentiles(part, whole, confidence) for part, whole in zip(sums[::2], sums[1::2], strict=True)]


def mean_ratio_interval(
    ratios: Sequence[tuple[np.ndarray, np.ndarray]], seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of the unweighted mean of several ratios over the same clusters; see `ratio_interval`.

    Resamples in which a ratio has no whole are left out.
    """
    sums = _resampled(np.array([each for ratio in ratios for each in ratio]), seed)
    wholes = sums[1::2]
    defined = (wholes > 0).all(axis=0)
    if not defined.any():
        return None
    return percentiles((sums[::2, defined] / wholes[:, defined]).mean(axis=0), confidence)


def _percentiles(parts: np.ndarray, wholes: np.ndarray, confidence: float) -> tuple[float, float] | None:
    defined = wholes > 0
    return percentiles(parts[defined] / wholes[defined], confidence) if defined.any() else None


def difference_interval(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of the difference of two ratios over the same clusters, resampled in pairs."""
    sums = _resampled(np.stack([*one, *other]), seed)
    defined = (sums[1] > 0) & (sums[3] > 0)
    if not defined.any():
        return None
    return percentiles((sums[0] / sums[1].clip(1) - sums[2] / sums[3].clip(1))[defined], confidence)


def correlation_interval(
    x: np.ndarray, y: np.ndarray, clusters: np.ndarray, seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of Pearson's correlation, resampling whole clusters of points.

    Resamples in which either side does not vary are left out. `None` under `FEWEST` clusters.
    """
    names, cluster = np.unique(clusters, return_inverse=True)
    if len(names) < FEWEST:
        return None
    weights = drawn(len(names), seed)[cluster]
    weights = weights / weights.sum(axis=0)
    values = [np.asarray(each, np.float64)[:, None] for each in (x, y)]
    off = [each - (weights * each).sum(axis=0) for each in values]
    spread = np.prod([(weights * each**2).sum(axis=0) for each in off], axis=0)
    defined = spread > 1e-24
    if not defined.any():
        return None
    return percentiles((weights * off[0] * off[1]).sum(axis=0)[defined] / np.sqrt(spread[defined]), confidence)


def _resampled(values: np.ndarray, seed: int) -> np.ndarray:
    """Sums over `RESAMPLES` draws with replacement of the columns of `values`: (rows, RESAMPLES)."""
    n = values.shape[1]
    if n == 0:
        return np.zeros((len(values), 0))
    bundle = bundles(n, seed)
    rows = [np.bincount(bundle, row.astype(np.float64)) for row in values]
    return np.array(rows) @ drawn(len(rows[0]), seed)


def bundles(n: int, seed: int) -> np.ndarray:
    """The bundle of each of n clusters: its own up to `MOST` of them, beyond that one of `MOST` equal ones by lot.

    Clusters that are bundled by lot are as independent as before, so resampling bundles says the same of the error
    at a bounded cost.
    """
    return np.arange(n) if n <= MOST else np.random.default_rng(seed).permutation(n) % MOST


@lru_cache(maxsize=4)
def drawn(n: int, seed: int) -> np.ndarray:
    """How often each of n clusters is in each resample: (n, RESAMPLES)."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).T.astype(np.float64)


def percentiles(values: np.ndarray, confidence: float) -> tuple[float, float] | None:
    """The middle `confidence` of what resamples gave; `None` where they agree: then they say nothing of the error.

    Sums of equal numbers in other orders differ in their last bits and agree all the same.
    """
    low, high = (float(end) for end in np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]))
    return None if math.isclose(low, high, rel_tol=1e-12) else (low, high)
