"""Error bars: exact and Wilson intervals, rates with repeated observations per cluster, standard errors over seeds."""

from __future__ import annotations

from math import atan, cos, exp, lgamma, log, log1p, pi, sin, sqrt
from statistics import NormalDist

import numpy as np


def wilson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of the rate k / n for independent observations; `None` for n = 0."""
    return score_interval(k / n, n, confidence) if n else None


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Clopper and Pearson's interval of the rate k / n: covers at least as often as it says, for every rate.

    The ends are where k or more, and k or fewer, hits of n independent trials have the chance
    (1 - confidence) / 2; 0 and 1 where k is 0 or n. `None` for n = 0.
    """
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    return _quantile(tail, k, n), 1.0 - _quantile(tail, n - k, n)


def lower_bound(k: int, n: int, confidence: float) -> float | None:
    """What the rate behind k hits of n is at least, with this one-sided confidence; `None` for n = 0."""
    return _quantile(1 - confidence, k, n) if n else None


def hits_needed(n: int, rate: float, confidence: float) -> int | None:
    """The fewest hits of n whose `lower_bound` is at least `rate`; `None` where even n hits do not show it.

    A threshold that is the k-th largest of n independent units' critical values, with this k, has at least
    this recall on new units with this confidence (the distribution-free tolerance limit), although the same
    units chose it: k does not depend on the values.
    """
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        if middle > n or (lower_bound(middle, n, confidence) or 0.0) >= rate:
            high = middle
        else:
            low = middle + 1
    return low if low <= n else None


def clustered_rate(
    hits: np.ndarray, clusters: np.ndarray, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of the pooled rate of `hits` (bool, or chances of one) when observations repeat per cluster.

    The cluster-robust variance of the mean, C/(C-1) * sum over clusters of (hits - rate * size)^2 / n^2, says
    how many independent observations the n dependent ones are worth: rate * (1 - rate) / variance, at most n.
    Wilson's interval with that number stays within [0, 1]. Where the outcomes do not vary (rate 0 or 1) or
    there is one cluster, the variance says nothing and every cluster counts as one observation. `None` for
    n = 0.
    """
    hits = np.asarray(hits, np.float64)
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
    return score_interval(rate, worth, confidence)


def standard_error(values: np.ndarray) -> float | None:
    """Standard error of the mean with the sample standard deviation; `None` for fewer than two values."""
    values = np.asarray(values, np.float64)
    return float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else None


def student(confidence: float, degrees: int) -> float:
    """How many standard errors lie on either side of a mean in an interval of this confidence (Student's t).

    `degrees` of freedom, a whole number: one less than the values (Abramowitz and Stegun 26.7.3 and 26.7.4).
    """
    low, high = 0.0, 1.0
    while _within(high, degrees) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return high


def _within(reach: float, degrees: int) -> float:
    """The probability that Student's t lies between -reach and reach."""
    angle = atan(reach / sqrt(degrees))
    term = cos(angle) if degrees % 2 else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(degrees % 2, degrees - 2, 2):
        term *= (power + 1) / (power + 2) * cos(angle) ** 2
        total += term
    return 2 / pi * (angle + sin(angle) * total) if degrees % 2 else sin(angle) * total


def score_interval(rate: float, n: float, confidence: float) -> tuple[float, float]:
    """Wilson's interval of a rate that is worth `n` independent trials."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if rate == 0 else max(0.0, centre - reach)
    high = 1.0 if rate == 1 else min(1.0, centre + reach)
    return low, high


def _quantile(tail: float, k: int, n: int) -> float:
    """The rate p at which k or more hits of n have the chance `tail`; 0 for k = 0. Bisection to the last bit."""
    if k == 0:
        return 0.0
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if _at_least(k, n, middle) < tail:
            low = middle
        else:
            high = middle
    return high


def _at_least(k: int, n: int, p: float) -> float:
    """P(X >= k) for X binomial (n, p), 0 < k <= n, 0 < p < 1: the regularised incomplete beta I_p(k, n - k + 1)."""
    a, b = k, n - k + 1
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(p) + b * log1p(-p))
    if p < (a + 1) / (a + b + 2):
        return front * _continued_fraction(a, b, p) / a
    return 1 - front * _continued_fraction(b, a, 1 - p) / b


def _continued_fraction(a: float, b: float, x: float) -> float:
    """The incomplete beta function's continued fraction by Lentz's method (DLMF 8.17.22), quick for x < a / (a + b)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0), tiny)
    result, step = d, 0
    while True:
        step += 1
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for numerator in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + numerator * d, tiny)
            c = _away_from_zero(1.0 + numerator / c, tiny)
            result *= c * d
        if abs(c * d - 1.0) < 1e-15:
            return result


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
