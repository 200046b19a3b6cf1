"""Intervals of AUC and TPR: against formulas worked out pair by pair, resampling done slowly, and closed ends."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from sm_ops.metrics import auroc, auroc_interval, threshold_at_fpr, tpr_at_fpr, tpr_at_fpr_interval
from sm_ops.metrics.intervals import score_interval

pytestmark = pytest.mark.unit

Z = NormalDist().inv_cdf(0.975)


def sample(seed: int, positives: int, negatives: int, levels: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Scores with many ties, positives a little higher."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, positives + negatives) + np.r_[np.full(positives, 2), np.zeros(negatives, int)]
    return scores.astype(float), np.r_[np.ones(positives, bool), np.zeros(negatives, bool)]


def won(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """1, 1/2 or 0 for each pair of a positive and a negative."""
    difference = scores[labels][:, None] - scores[~labels][None, :]
    return (difference > 0) + (difference == 0) / 2


def test_delong_of_independent_units_is_the_published_variance():
    scores, labels = sample(0, 30, 50)
    pairs = won(scores, labels)
    variance = pairs.mean(1).var(ddof=1) / 30 + pairs.mean(0).var(ddof=1) / 50
    area = pairs.mean()
    assert area == pytest.approx(auroc(scores, labels))
    expected = score_interval(area, area * (1 - area) / variance, 0.95)
    assert auroc_interval(scores, labels, np.arange(80)) == pytest.approx(expected)
    assert expected == pytest.approx((area - Z * variance**0.5, area + Z * variance**0.5), abs=0.02)


def test_units_of_a_cluster_count_as_one():
    """Each unit four times, as the sentences of one record: the error is that of the records."""
    scores, labels = sample(1, 20, 25)
    once = auroc_interval(scores, labels, np.arange(45))
    assert auroc_interval(np.repeat(scores, 4), np.repeat(labels, 4), np.repeat(np.arange(45), 4)) == pytest.approx(
        once
    )
    assert auroc_interval(np.repeat(scores, 4), np.repeat(labels, 4), np.arange(180))[0] > once[0]


def test_the_clustered_interval_is_as_wide_as_resampled_records_say():
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(60), 5)
    labels = cluster < 30
    scores = rng.normal(size=60)[cluster] + 0.5 * rng.normal(size=300) + labels
    low, high = auroc_interval(scores, labels, cluster)
    areas = []
    for _ in range(800):
        drawn = np.r_[rng.integers(0, 30, 30), rng.integers(30, 60, 30)]
        units = (drawn[:, None] * 5 + np.arange(5)).ravel()
        areas.append(auroc(scores[units], labels[units]))
    assert high - low == pytest.approx(np.quantile(areas, 0.975) - np.quantile(areas, 0.025), rel=0.12)


def test_a_perfect_ranking_of_few_records_is_no_certainty():
    labels = np.repeat([True, False], 10)
    low, high = auroc_interval(np.where(labels, 1.0, 0.0), labels, np.repeat(np.arange(4), 5))
    assert (low, high) == (pytest.approx(2 / (2 + Z * Z)), 1.0)
    assert auroc_interval(np.zeros(20), labels, np.arange(20)) == pytest.approx(score_interval(0.5, 10, 0.95))
    assert auroc_interval(np.zeros(3), np.ones(3, bool), np.arange(3)) is None


@pytest.mark.parametrize("seed", range(8))
def test_tpr_is_the_best_over_observed_thresholds(seed):
    scores, labels = sample(seed, 9, 14)
    for most in (Fraction(0), Fraction(1, 14), Fraction(29, 100), Fraction(1, 2), Fraction(1)):
        rates = [
            Fraction(int((scores[labels] >= t).sum()), 9)
            for t in scores
            if Fraction(int((scores[~labels] >= t).sum()), 14) <= most
        ]
        assert tpr_at_fpr(scores, labels, most) == pytest.approx(float(max(rates, default=Fraction(0))))


def test_no_threshold_keeps_to_the_rate():
    scores, labels = np.array([3.0, 2.0, 1.0]), np.array([False, True, False])
    assert tpr_at_fpr(scores, labels, Fraction(1, 100)) == 0.0
    assert threshold_at_fpr(scores, labels, Fraction(1, 100)) == np.inf
    assert tpr_at_fpr(scores, np.zeros(3, bool), 0.5) is None


def test_the_interval_of_tpr_chooses_its_threshold_anew_and_takes_records():
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(80), 4)
    labels = cluster < 40
    scores = np.round(rng.normal(size=80)[cluster] + rng.normal(size=320) + labels, 1)
    most = Fraction(1, 10)
    rates = []
    for _ in range(1500):
        drawn = np.r_[rng.integers(0, 40, 40), rng.integers(40, 80, 40)]
        units = (drawn[:, None] * 4 + np.arange(4)).ravel()
        rates.append(tpr_at_fpr(scores[units], labels[units], most))
    expected = np.quantile(rates, [0.025, 0.975])
    assert tpr_at_fpr_interval(scores, labels, cluster, most, seed=0) == pytest.approx(tuple(expected), abs=0.04)


def test_only_as_much_is_looked_at_as_may_pass(monkeypatch):
    """Cutting the list and cutting the resamples into parts are shortcuts: neither changes a number."""
    from sm_ops.metrics import ranking

    scores, labels = sample(7, 400, 400, levels=5000)
    arguments = (scores, labels, np.arange(800) // 3, Fraction(1, 100), 1)
    short = tpr_at_fpr_interval(*arguments)
    monkeypatch.setattr(ranking, "_AT_A_TIME", 800 * 37)
    monkeypatch.setattr(ranking, "min", max, raising=False)
    assert tpr_at_fpr_interval(*arguments) == short


def test_nothing_is_said_where_resamples_agree():
    labels = np.repeat([True, False], 10)
    assert tpr_at_fpr_interval(np.where(labels, 1.0, 0.0), labels, np.arange(20), Fraction(1, 100), seed=0) is None
