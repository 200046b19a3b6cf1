from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from sm_ops.metrics import auroc, clustered_rate, confusion, standard_error, wilson

pytestmark = pytest.mark.unit


def test_auroc_counts_pairs():
    rng = np.random.default_rng(19)
    for _ in range(200):
        length = int(rng.integers(0, 20))
        scores = np.where(rng.random(length) < 0.2, -np.inf, rng.integers(0, 5, length))
        labels = rng.random(length) < 0.5
        pairs = [(p, n) for p in scores[labels] for n in scores[~labels]]
        expected = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p, n in pairs) / len(pairs) if pairs else None
        assert auroc(scores, labels) == pytest.approx(expected)


def test_auroc_is_exact_for_large_inputs():
    half = 200_000
    scores = np.concatenate([np.arange(half), np.arange(half)])
    labels = np.arange(2 * half) < half
    assert auroc(scores, labels) == 0.5


def test_confusion_and_undefined_rates():
    counts = confusion(np.array([1, 1, 0, 0, 1]), np.array([1, 0, 1, 0, 1]))
    assert (counts.tp, counts.fp, counts.fn, counts.tn) == (2, 1, 1, 1)
    assert (counts.tpr, counts.fpr, counts.precision, counts.f1) == (2 / 3, 0.5, 2 / 3, 2 / 3)
    nothing = confusion(np.zeros(2), np.zeros(2))
    assert (nothing.tpr, nothing.fpr, nothing.precision, nothing.f1) == (None, 0.0, None, None)
    assert confusion(np.array([1, 0]), np.array([0, 0])).f1 == 0.0
    assert confusion(np.zeros(1), np.ones(1)).fpr is None


def test_wilson_solves_its_quadratic():
    """The ends p of the interval are where |k/n - p| is z standard errors sqrt(p (1 - p) / n)."""
    z = 1.959963984540054
    for k, n in ((1, 10), (5, 10), (66, 100), (999, 1000)):
        for end in wilson(k, n) or ():
            assert abs(k / n - end) == pytest.approx(z * sqrt(end * (1 - end) / n), rel=1e-9)
    assert wilson(0, 10) == (0.0, pytest.approx(z * z / (10 + z * z)))
    assert wilson(10, 10) == (pytest.approx(10 / (10 + z * z)), 1.0)
    assert wilson(0, 0) is None
    narrow, wide = wilson(5, 10, confidence=0.5), wilson(5, 10, confidence=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_clustered_rate_between_independent_and_identical_observations():
    outcomes = np.array([1, 0, 0, 1, 0] * 8, bool)
    repeated = clustered_rate(np.repeat(outcomes, 3), np.repeat(np.arange(40), 3))
    assert repeated == pytest.approx(wilson(16, 40), abs=0.005)  # three copies tell no more than one
    single = clustered_rate(outcomes, np.arange(40))
    assert single == pytest.approx(wilson(16, 40), abs=0.005)
    spread_evenly = clustered_rate(np.tile([True, False], 20), np.repeat(np.arange(20), 2))
    assert spread_evenly == pytest.approx(wilson(20, 40))


def test_clustered_rate_by_hand():
    # hits 2, 0, 1 of 2: residuals 1, -1, 0, variance 3/2 * 2 / 36 = 1/12, worth (1/4) / (1/12) = 3 observations
    outcomes, clusters = np.array([1, 1, 0, 0, 1, 0], bool), [0, 0, 1, 1, 2, 2]
    assert clustered_rate(outcomes, clusters) == pytest.approx(wilson(1.5, 3))


def test_clustered_rate_without_variance_counts_clusters():
    clusters = ["a", "a", "b", "b", "c", "c"]
    assert clustered_rate(np.zeros(6, bool), clusters) == wilson(0, 3)
    assert clustered_rate(np.ones(6, bool), clusters) == wilson(3, 3)
    assert clustered_rate(np.array([1, 0], bool), ["a", "a"]) == pytest.approx(wilson(0.5, 1))
    assert clustered_rate(np.zeros(0, bool), []) is None


def test_clustered_rate_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(20)
    covered = 0
    for _ in range(600):
        chance = rng.beta(0.6, 1.4, 60)  # mean 0.3, strongly clustered
        low, high = clustered_rate(
            rng.random((60, 4)).ravel() < np.repeat(chance, 4), np.repeat(np.arange(60), 4)
        ) or (0, 0)
        covered += low <= 0.3 <= high
    assert 0.92 <= covered / 600 <= 0.98


def test_standard_error():
    assert standard_error(np.array([1.0, 2.0, 3.0])) == pytest.approx(1 / sqrt(3))
    assert standard_error(np.array([1.0])) is None
