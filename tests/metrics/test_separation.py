"""AUROC of several sets of positives, its intervals over clusters, and units that stand for many."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.calibration.thresholds import at_max_f1, at_recall, by_category, curve, within
from sm_ops.masking.combine import COMBINATIONS, jaccard, pair_counts, quantile_grid, select_jointly
from sm_ops.metrics import Separation, auroc, auroc_interval_by_cluster, confusion, ratio_interval, ratio_intervals
from sm_ops.metrics.bootstrap import RESAMPLES, bundles, drawn

pytestmark = pytest.mark.unit


def some(rng: np.random.Generator, size: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Scores with ties and some missing, labels, clusters (not all numbers occur), weights."""
    scores = np.where(rng.random(size) < 0.1, -np.inf, rng.integers(0, 6, size) / 2)
    return scores, rng.random(size) < 0.4, 2 * rng.integers(0, 5, size), rng.integers(1, 4, size)


def test_each_set_of_positives_is_ranked_against_the_same_negatives():
    rng = np.random.default_rng(1)
    for _ in range(10):
        scores, labels, clusters, weight = some(rng)
        own = np.flatnonzero(labels)[::2]
        ranked = Separation(scores, labels, clusters, weight)
        assert ranked.auroc() == auroc(np.repeat(scores, weight), np.repeat(labels, weight))
        assert ranked.auroc() == auroc(scores, labels, weight)
        seen = np.concatenate([own, np.flatnonzero(~labels)])
        seen = np.repeat(seen, weight[seen])
        assert ranked.auroc(own) == auroc(scores[seen], labels[seen])


def test_the_interval_is_that_of_resampled_clusters():
    rng = np.random.default_rng(2)
    scores, labels, clusters, weight = some(rng)
    scores += np.where(labels, rng.integers(0, 2, len(scores)) / 4, 0)  # some between levels of the negatives
    found = [np.flatnonzero(clusters == cluster) for cluster in np.unique(clusters)]
    draws = drawn(len(found), 7).T.astype(int)
    areas = []
    for draw in draws:
        seen = np.concatenate([np.tile(own, times) for own, times in zip(found, draw, strict=True)])
        areas.append(auroc(scores[seen], labels[seen], weight[seen]))
    expected = np.quantile([area for area in areas if area is not None], [0.025, 0.975])
    assert auroc_interval_by_cluster(scores, labels, clusters, weight, 7) == pytest.approx(tuple(expected))
    assert len(areas) == RESAMPLES


def test_many_levels_change_the_interval_by_little():
    rng = np.random.default_rng(3)
    clusters, labels = np.repeat(np.arange(40), 50), rng.random(2000) < 0.3
    scores = rng.normal(size=2000) + labels + rng.normal(size=40)[clusters] / 2
    low, high = auroc_interval_by_cluster(scores, labels, clusters, np.ones(2000, int), 0)
    coarse = auroc_interval_by_cluster(np.round(scores, 1), labels, clusters, np.ones(2000, int), 0)
    assert (low, high) == pytest.approx(coarse, abs=0.004)
    assert low < auroc(scores, labels) < high


@pytest.mark.parametrize(
    ("scores", "labels", "clusters"),
    [([], [], []), ([1, 2], [1, 1], [0, 1]), ([1, 2], [0, 0], [0, 1]), ([1, 2], [0, 1], [3, 3])],
)
def test_no_interval_without_both_classes_and_two_clusters(scores, labels, clusters):
    arrays = np.array(scores, float), np.array(labels, bool), np.array(clusters, int), np.ones(len(scores), int)
    assert auroc_interval_by_cluster(*arrays, 0) is None


def test_clusters_beyond_a_thousand_are_bundled_and_say_the_same():
    assert np.bincount(bundles(5000, 0)).tolist() == [5] * 1000
    assert bundles(1000, 0).tolist() == list(range(1000))
    rng = np.random.default_rng(4)
    parts = (rng.random(5000) < 0.2).astype(int)
    low, high = ratio_interval(parts, np.ones(5000, int), seed=0)
    half = 1.96 * (parts.mean() * (1 - parts.mean()) / 5000) ** 0.5
    assert (low, high) == (pytest.approx(parts.mean() - half, abs=0.002), pytest.approx(parts.mean() + half, abs=0.002))


def test_several_ratios_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(5)
    ratios = [(rng.integers(0, 3, 9), rng.integers(3, 5, 9)), (np.zeros(9, int), np.zeros(9, int))]
    assert ratio_intervals(ratios, 0) == [ratio_interval(*ratio, 0) for ratio in ratios]


def test_a_weighted_unit_is_so_many_equal_ones():
    rng = np.random.default_rng(6)
    for _ in range(10):
        scores, gold, _, weight = some(rng)
        other = rng.integers(0, 3, len(scores)).astype(float)
        one, several = (scores, gold), (np.repeat(scores, weight), np.repeat(gold, weight))
        for choose in (at_max_f1, lambda *a: at_recall(*a[:2], 0.6, *a[2:]), lambda *a: within(*a[:2], 0.2, *a[2:])):
            assert choose(*one, weight) == choose(*several)
        members = {"a": gold & (other > 0), "b": gold & (other < 2)}
        repeated = {name: np.repeat(own, weight) for name, own in members.items()}
        assert by_category(scores, members, weight) == by_category(several[0], repeated)
        for name in ("tau", "coverage", "collateral"):
            assert getattr(curve(*one, weight), name) == pytest.approx(getattr(curve(*several), name))
        masked = scores > 1
        assert confusion(masked, gold, weight) == confusion(np.repeat(masked, weight), several[1])
        assert jaccard(masked, other > 0, weight) == jaccard(*(np.repeat(own, weight) for own in (masked, other > 0)))
        grids = quantile_grid(scores, 4), quantile_grid(other, 4)
        for how in COMBINATIONS:
            alike = select_jointly(scores, other, gold, how, *grids, weight)
            assert alike == select_jointly(several[0], np.repeat(other, weight), several[1], how, *grids)


def test_every_pair_of_thresholds_is_counted():
    rng = np.random.default_rng(7)
    scores, gold, _, weight = some(rng)
    other = rng.integers(0, 3, len(scores)).astype(float)
    rows, columns = np.array([0.5, 1.0, np.inf]), np.array([0.0, 2.0])
    for how, combine in COMBINATIONS.items():
        tp, fp, targets, total = pair_counts(scores, other, gold, how, rows, columns, weight)
        assert (targets, total) == (weight[gold].sum(), weight.sum())
        for row, one in enumerate(rows):
            for column, two in enumerate(columns):
                masked = combine(scores >= one, other >= two)
                assert (tp[row, column], fp[row, column]) == (weight[masked & gold].sum(), weight[masked & ~gold].sum())


def test_many_levels_and_a_heavy_last_one_have_an_interval_too():
    scores = np.append(np.arange(1000.0), np.full(500, 2000.0))
    labels, clusters = np.arange(1500) % 7 == 0, np.arange(1500) % 11
    low, high = auroc_interval_by_cluster(scores, labels, clusters, np.ones(1500, int), 0)
    assert low < auroc(scores, labels) < high


def test_perfect_and_nearly_perfect_rankings_are_not_blurred():
    labels, clusters, ones = np.arange(3000) >= 2900, np.arange(3000) % 13, np.ones(3000, int)
    assert auroc_interval_by_cluster(np.arange(3000.0), labels, clusters, ones, 0) is None
    between = np.where(labels, 2898.5, np.arange(3000.0))  # one of the others is above all targets
    low, high = auroc_interval_by_cluster(between, labels, clusters, ones, 0)
    assert low < auroc(between, labels) == 1 - 1 / 2900 < high
    assert high == pytest.approx(1.0)
