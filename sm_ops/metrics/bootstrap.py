"""Intervals of ratios of sums, by resampling whole clusters (documents, repositories), never their parts."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

RESAMPLES = 2000
BINS = 512


def ratio_interval(
    parts: np.ndarray, wholes: np.ndarray, seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of `parts.sum() / wholes.sum()`, with one number of each per cluster.

    Precision, recall and F1 = 2TP / (2TP + FP + FN) are such ratios. Resamples whose whole is 0 are left out. `None`
    where the ratio is undefined, or where all resamples agree: then a bootstrap says nothing of the error.
    """
    ratios = _resampled(np.stack([parts, wholes]), seed)
    defined = ratios[1] > 0
    if not wholes.sum() or not defined.any():
        return None
    return percentiles(ratios[0, defined] / ratios[1, defined], confidence)


def difference_interval(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], seed: int, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of the difference of two ratios over the same clusters, resampled in pairs."""
    sums = _resampled(np.stack([*one, *other]), seed)
    defined = (sums[1] > 0) & (sums[3] > 0)
    if not defined.any():
        return None
    return percentiles((sums[0] / sums[1].clip(1) - sums[2] / sums[3].clip(1))[defined], confidence)


def auroc_interval_by_cluster(
    scores: np.ndarray,
    labels: np.ndarray,
    clusters: np.ndarray,
    weight: np.ndarray,
    seed: int,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Percentile interval of `auroc` by resampling clusters that hold units of both classes, such as documents.

    An entry stands for `weight` equal units. Scores count by `BINS` ranks of equal weight, which is exact where there
    are no more distinct ones. `None` without both classes, with one cluster, or where all resamples agree.
    """
    labels = np.asarray(labels, bool)
    found, cluster = np.unique(clusters, return_inverse=True)
    if labels.all() or not labels.any() or len(found) < 2:
        return None
    rank = _ranks(scores, weight)
    size = int(rank.max()) + 1
    sums = []
    for own in (labels, ~labels):
        cell = cluster[own] * size + rank[own]
        by_cluster = np.bincount(cell, weight[own], len(found) * size).reshape(len(found), size)
        sums.append(_resampled(by_cluster.T, seed))  # (ranks, resamples)
    positives, negatives = sums
    pairs = positives.sum(0) * negatives.sum(0)
    won = (positives * (np.cumsum(negatives, axis=0) - negatives / 2)).sum(0)
    return percentiles(won[pairs > 0] / pairs[pairs > 0], confidence) if (pairs > 0).any() else None


def _ranks(scores: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Each entry's place among at most `BINS` increasing groups of scores; equal scores are in one group."""
    levels, level = np.unique(scores, return_inverse=True)
    if len(levels) <= BINS:
        return level
    before = np.cumsum(np.bincount(level, weight, len(levels)))
    return np.unique((before - 1) * BINS // before[-1], return_inverse=True)[1][level]


def _resampled(values: np.ndarray, seed: int) -> np.ndarray:
    """Sums over `RESAMPLES` draws with replacement of the columns of `values`: (rows, RESAMPLES)."""
    n = values.shape[1]
    if n == 0:
        return np.zeros((len(values), 0))
    return values.astype(np.float64) @ _drawn(n, seed)


@lru_cache(maxsize=4)
def _drawn(n: int, seed: int) -> np.ndarray:
    """How often each of n clusters is in each resample: (n, RESAMPLES)."""
    return np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=RESAMPLES).T.astype(np.float64)


def percentiles(values: np.ndarray, confidence: float) -> tuple[float, float] | None:
    """The middle `confidence` of what resamples gave; `None` where they agree: then they say nothing of the error.

    Sums of equal numbers in other orders differ in their last bits and agree all the same.
    """
    low, high = (float(end) for end in np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2]))
    return None if math.isclose(low, high, rel_tol=1e-12) else (low, high)
