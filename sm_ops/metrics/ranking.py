"""How well a score ranks the positives ahead of the negatives, and how sure that is."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np

from sm_ops.metrics.bootstrap import percentiles
from sm_ops.metrics.intervals import score_interval

_RESAMPLES = 1000
_AT_A_TIME = 4_000_000


def auroc(scores: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None) -> float | None:
    """Share of (positive, negative) pairs that the positive wins, ties counting one half (spec section 7).

    A unit without a score is passed as minus infinity: it ranks below all others and ties with its like
    (OP-20). `None` unless both classes occur (OP-19). One sort, exact integer counts; NaN is not a score. With
    `weight` (whole numbers) an entry stands for so many equal units.
    """
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels, bool)
    positives, negatives, _ = _by_level(scores, labels, weight)
    pairs = int(positives.sum()) * int(negatives.sum())
    if pairs == 0:
        return None
    return int(positives @ _beaten_twice(negatives)) / (2 * pairs)


def auroc_interval(
    scores: np.ndarray, labels: np.ndarray, clusters: np.ndarray, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of `auroc` where units of one cluster are not independent; no cluster holds both classes.

    DeLong's variance with the units' shares of won pairs summed by cluster (Obuchowski 1997). As in
    `clustered_rate`, it says how many independent trials the units are worth, and Wilson's interval with that number
    stays within [0, 1]. Where the shares do not vary (a perfect or a constant ranking), the clusters of the class
    that has fewer count. `None` unless both classes occur.
    """
    scores, labels, clusters = np.asarray(scores, np.float64), np.asarray(labels, bool), np.asarray(clusters)
    area = auroc(scores, labels)
    if area is None:
        return None
    positives, negatives, level = _by_level(scores, labels)
    wins = _beaten_twice(negatives)[level] / (2 * negatives.sum())
    losses = 1 - _beaten_twice(positives)[level] / (2 * positives.sum())
    variance, fewest = 0.0, len(labels)
    for members, shares in ((labels, wins), (~labels, losses)):
        _, own = np.unique(clusters[members], return_inverse=True)
        sums = np.bincount(own, weights=shares[members] - area)
        count = len(sums)
        fewest = min(fewest, count)
        if count > 1:
            variance += count / (count - 1) * float(sums @ sums) / int(members.sum()) ** 2
    worth = area * (1 - area) / variance if variance > 1e-18 else fewest
    return score_interval(area, max(1.0, worth), confidence)


def threshold_at_fpr(scores: np.ndarray, labels: np.ndarray, fpr: Fraction | float) -> float:
    """The lowest observed score that, as a threshold, lets at most a share `fpr` of the negatives pass.

    Units at the threshold pass. Infinity where no observed score does.
    """
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels, bool)
    levels = np.unique(scores)
    negatives = np.sort(scores[~labels])
    passing = len(negatives) - np.searchsorted(negatives, levels, side="left")
    allowed = levels[passing <= floor(fpr * len(negatives))]
    return float(allowed[0]) if len(allowed) else np.inf


def tpr_at_fpr(scores: np.ndarray, labels: np.ndarray, fpr: Fraction | float) -> float | None:
    """The largest share of positives that pass while at most a share `fpr` of negatives does (spec section 16).

    Thresholds are observed scores; 0 where none of them keeps to `fpr`. `None` unless both classes occur. A `Fraction`
    is taken exactly.
    """
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels, bool)
    if labels.all() or not labels.any():
        return None
    return float((scores[labels] >= threshold_at_fpr(scores, labels, fpr)).mean())


def tpr_at_fpr_interval(
    scores: np.ndarray,
    labels: np.ndarray,
    clusters: np.ndarray,
    fpr: Fraction | float,
    seed: int,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Percentile interval of `tpr_at_fpr` by resampling the clusters of positives and those of negatives.

    The threshold is chosen anew in each of 1,000 resamples. `None` where they all agree, or a class is missing.
    """
    scores, labels, clusters = np.asarray(scores, np.float64), np.asarray(labels, bool), np.asarray(clusters)
    if labels.all() or not labels.any():
        return None
    rng = np.random.default_rng(seed)
    drawn, cluster = {}, np.empty(len(labels), np.int64)
    for positive in (True, False):
        found, own = np.unique(clusters[labels == positive], return_inverse=True)
        cluster[labels == positive] = own
        drawn[positive] = rng.multinomial(len(found), np.full(len(found), 1 / len(found)), size=_RESAMPLES)
    totals = {positive: drawn[positive] @ np.bincount(cluster[labels == positive]) for positive in drawn}
    order = np.argsort(-scores, kind="stable")
    ordered, positives, cluster = scores[order], labels[order], cluster[order]
    level_end = np.append(ordered[1:] != ordered[:-1], True)
    rates = []
    step = max(1, _AT_A_TIME // len(order))
    for first in range(0, _RESAMPLES, step):
        rows = slice(first, first + step)
        most = np.array([floor(fpr * int(total)) for total in totals[False][rows]])
        rates.append(_passing(drawn, rows, positives, cluster, level_end, most) / totals[True][rows])
    return percentiles(np.concatenate(rates), confidence)


def _passing(
    drawn: dict[bool, np.ndarray],
    rows: slice,
    positives: np.ndarray,
    cluster: np.ndarray,
    level_end: np.ndarray,
    most: np.ndarray,
) -> np.ndarray:
    """Positives that pass in each resample while at most `most` negatives do; units are ordered by falling score.

    Only the beginning is looked at, as far as some resample may still pass.
    """
    size = min(len(positives), 64)
    while True:
        head = slice(size)
        weights = {own: drawn[own][rows][:, cluster[head] * (positives[head] == own)] for own in drawn}
        false = np.cumsum(weights[False] * ~positives[head], axis=1)
        if size == len(positives) or (false[:, -1] > most).all():
            break
        size = min(len(positives), 4 * size)
    true = np.cumsum(weights[True] * positives[head], axis=1)
    return np.max(np.where(level_end[head] & (false <= most[:, None]), true, 0), axis=1)


def _by_level(
    scores: np.ndarray, labels: np.ndarray, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positives and negatives of each distinct score, ascending, and each unit's place among these."""
    levels, level = np.unique(scores, return_inverse=True)
    positives, negatives = (
        np.bincount(level[own], None if weight is None else weight[own], len(levels)).astype(np.int64)
        for own in (labels, ~labels)
    )
    return positives, negatives, level


def _beaten_twice(counts: np.ndarray) -> np.ndarray:
    """Twice the units below each level, and once those on it: ties count one half."""
    return 2 * np.cumsum(counts) - counts
