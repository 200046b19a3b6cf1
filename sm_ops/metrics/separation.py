"""AUROC of many sets of positives against the same negatives, with intervals over clusters that hold both classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sm_ops.metrics.bootstrap import bundles, drawn, percentiles

BORDERS = 256


class Separation:
    """Weighted units of two classes, sorted once; entry i stands for `weight[i]` equal units of one cluster.

    `scores` float64 (minus infinity: below all others, a tie among themselves), `labels` bool (positive), `clusters`
    int64, `weight` int64.
    """

    def __init__(self, scores: np.ndarray, labels: np.ndarray, clusters: np.ndarray, weight: np.ndarray) -> None:
        self._scores, self._clusters, self._weight = scores, clusters, weight
        self._positives = np.flatnonzero(labels)
        negatives = np.flatnonzero(~labels)
        order = negatives[np.argsort(scores[negatives])]
        self._order, self._levels = order, scores[order]
        self._below = np.concatenate([[0], np.cumsum(weight[order])])
        self._resamples: dict[int, _Resamples] = {}

    def auroc(self, positives: np.ndarray | None = None) -> float | None:
        """Share of pairs that the positive wins, ties one half (spec section 7); `None` without both classes.

        `positives` are the numbers of those that count, all of them where it is None.
        """
        own = self._positives if positives is None else positives
        scores, weight = self._scores[own], self._weight[own]
        beaten_twice = sum(self._below[np.searchsorted(self._levels, scores, side)] for side in ("left", "right"))
        pairs = int(weight.sum()) * int(self._below[-1])
        return int(weight @ beaten_twice) / (2 * pairs) if pairs else None

    def interval(
        self, seed: int, positives: np.ndarray | None = None, confidence: float = 0.95
    ) -> tuple[float, float] | None:
        """Percentile interval of `auroc` by resampling whole clusters.

        Scores count by the place among at most `BORDERS` levels of the negatives and the gaps between these, which is
        exact where they have no more levels. `None` without both classes, with one cluster, or where all resamples
        agree.
        """
        own = self._positives if positives is None else positives
        if not len(own) or not len(self._order):
            return None
        if seed not in self._resamples:
            self._resamples[seed] = self._resampled(seed)
        negatives = self._resamples[seed]
        if len(negatives.drawn) < 2:
            return None
        places, groups = len(negatives.beaten), len(negatives.drawn)
        cell = _place(negatives.borders, self._scores[own]) * groups + negatives.bundle[self._clusters[own]]
        sums = np.bincount(cell, self._weight[own], places * groups).reshape(places, groups) @ negatives.drawn
        pairs = sums.sum(0) * negatives.total
        won = (sums * negatives.beaten).sum(0)
        return percentiles(won[pairs > 0] / pairs[pairs > 0], confidence) if (pairs > 0).any() else None

    def _resampled(self, seed: int) -> _Resamples:
        found = np.flatnonzero(np.bincount(self._clusters))
        own = bundles(len(found), seed)
        groups = int(own.max()) + 1
        bundle = np.zeros(int(self._clusters.max()) + 1, np.int64)
        bundle[found] = own
        draws = drawn(groups, seed)
        borders = self._borders()
        cell = _place(borders, self._levels) * groups + bundle[self._clusters[self._order]]
        places = 2 * len(borders) + 1
        by_bundle = np.bincount(cell, self._weight[self._order], places * groups).reshape(places, groups)
        beaten = (np.cumsum(by_bundle, 0) - by_bundle / 2) @ draws
        return _Resamples(borders, bundle, draws, beaten, by_bundle.sum(0) @ draws)

    def _borders(self) -> np.ndarray:
        """At most `BORDERS` levels of the negatives, increasing.

        Every level where that suffices; else levels at even steps of the negatives, and those on either side of
        positives at even steps, so that classes that hardly overlap are told apart.
        """
        first = np.flatnonzero(np.append(True, self._levels[1:] != self._levels[:-1]))
        levels, below = self._levels[first], self._below[first]
        if len(first) <= BORDERS:
            return levels
        own = self._positives[np.argsort(self._scores[self._positives])]
        passed = np.cumsum(self._weight[own])
        steps = np.linspace(0, 1, BORDERS // 3, endpoint=False)
        even = np.searchsorted(below, steps * self._below[-1], "right") - 1
        beside = np.searchsorted(levels, self._scores[own[np.searchsorted(passed, steps * passed[-1], "right")]])
        return levels[np.unique(np.concatenate([even, beside - 1, beside]).clip(0, len(levels) - 1))]


class _Resamples(NamedTuple):
    """The negatives in each resample: `beaten` by a positive of each place (ties one half), and in `total`."""

    borders: np.ndarray
    bundle: np.ndarray
    drawn: np.ndarray
    beaten: np.ndarray
    total: np.ndarray


def auroc_interval_by_cluster(
    scores: np.ndarray,
    labels: np.ndarray,
    clusters: np.ndarray,
    weight: np.ndarray,
    seed: int,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Percentile interval of `auroc` by resampling clusters that hold units of both classes, such as documents."""
    labels = np.asarray(labels, bool)
    return Separation(scores, labels, clusters, weight).interval(seed, confidence=confidence)


def _place(borders: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Where scores lie among increasing borders: 2k + 1 on border k, 2k between it and the one before."""
    return np.searchsorted(borders, scores, "left") + np.searchsorted(borders, scores, "right")
