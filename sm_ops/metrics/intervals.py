"""Error bars: Wilson intervals, rates with repeated observations per cluster, standard errors over seeds."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np


def wilson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of the rate k / n for independent observations; `None` for n = 0."""
    return _score_interval(k / n, n, confidence) if n else None


def clustered_rate(
    hits: np.ndarray, clusters: np.ndarray, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of the pooled rate of `hits` (bool) when observations repeat per cluster (canary over seeds).

    The cluster-robust variance of the mean, C/(C-1) * sum over clusters of (hits - rate * size)^2 / n^2, says
    how many independent observations the n dependent ones are worth: rate * (1 - rate) / variance, at most n.
    Wilson's interval with that number stays within [0, 1]. Where the outcomes do not vary (rate 0 or 1) or
    there is one cluster, the variance says nothing and every cluster counts as one observation. `None` for
    n = 0.
    """
    hits = np.asarray(hits, bool)
    n = len(hits)
    if n == 0:
        return None
    _, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    sizes = np.bincount(cluster)
    count, rate = len(sizes), float(hits.mean())
    worth = float(count)
    if count > 1 and 0 < rate < 1:
        residuals = np.bincount(cluster, weights=hits) - rate * sizes
        variance = count / (count - 1) * float(residuals @ residuals) / n**2
        worth = min(n, rate * (1 - rate) / variance) if variance > 0 else float(n)
    return _score_interval(rate, worth, confidence)


def standard_error(values: np.ndarray) -> float | None:
    """Standard error of the mean with the sample standard deviation; `None` for fewer than two values."""
    values = np.asarray(values, np.float64)
    return float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else None


def _score_interval(rate: float, n: float, confidence: float) -> tuple[float, float]:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if rate == 0 else max(0.0, centre - reach)
    high = 1.0 if rate == 1 else min(1.0, centre + reach)
    return low, high
