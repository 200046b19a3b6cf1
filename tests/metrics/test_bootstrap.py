"""Bootstrap intervals: of known widths, of the unit they take, and undefined where they say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.metrics import bootstrap, correlation_interval, difference_interval, ratio_interval

pytestmark = pytest.mark.unit


def test_a_share_of_independent_units_has_the_width_of_the_normal_approximation():
    rng = np.random.default_rng(1)
    parts = (rng.random(2000) < 0.3).astype(int)
    low, high = ratio_interval(parts, np.ones(2000, int), seed=0)
    rate = parts.mean()
    half = 1.96 * (rate * (1 - rate) / 2000) ** 0.5
    assert low == pytest.approx(rate - half, abs=0.003)
    assert high == pytest.approx(rate + half, abs=0.003)


def test_the_unit_is_the_cluster_not_its_parts():
    parts = np.array([100, 0] * 20)  # forty documents, each wholly right or wholly wrong
    low, high = ratio_interval(parts, np.full(40, 100), seed=0)
    half = 1.96 * (0.25 / 40) ** 0.5
    assert (low, high) == (pytest.approx(0.5 - half, abs=0.03), pytest.approx(0.5 + half, abs=0.03))


@pytest.mark.parametrize(
    ("parts", "wholes"), [([], []), ([0, 0], [0, 0]), ([1, 1], [1, 1]), ([0, 0, 0], [1, 2, 3]), ([3], [4])]
)
def test_nothing_is_said_where_resamples_agree_or_nothing_is_defined(parts, wholes):
    assert ratio_interval(np.array(parts, int), np.array(wholes, int), seed=0) is None


def test_resamples_without_a_denominator_are_left_out():
    low, high = ratio_interval(np.array([1, 1, 0, 0, 0, 0]), np.array([1, 2, 0, 0, 0, 0]), seed=0)
    assert 0.5 == low < high == 1.0


def test_pairs_take_out_what_both_share():
    rng = np.random.default_rng(2)
    hard = rng.random(400) < 0.5
    one = np.where(hard, 0, 1)
    other = np.where(hard | (rng.random(400) < 0.1), 0, 1)  # the same documents fail, and a few more
    ones = np.ones(400, int)
    low, high = difference_interval((one, ones), (other, ones), seed=0)
    assert 0 < low < one.mean() - other.mean() < high < 0.1
    assert difference_interval((one, ones), (one, ones), seed=0) is None


def test_the_seed_fixes_it():
    parts, wholes = np.arange(30) % 4, np.full(30, 4)
    assert ratio_interval(parts, wholes, seed=3) == ratio_interval(parts, wholes, seed=3)


def test_a_correlation_resamples_whole_clusters_as_by_hand() -> None:
    rng = np.random.default_rng(3)
    x = rng.random(18)
    y = x + 0.3 * rng.random(18)
    clusters = np.repeat(["a", "b", "c", "d", "e", "f"], 3)
    drawn = bootstrap.drawn(6, 5)
    found = []
    for draw in drawn.T.astype(int):
        taken = np.concatenate(
            [np.tile(np.flatnonzero(clusters == name), n) for name, n in zip("abcdef", draw, strict=True)]
        )
        found.append(np.corrcoef(x[taken], y[taken])[0, 1])
    expected = np.quantile(found, [0.025, 0.975])
    assert correlation_interval(x, y, clusters, seed=5) == pytest.approx(tuple(expected))
    assert correlation_interval(x[:12], y[:12], clusters[:12], seed=5) is None, "four clusters"
    assert correlation_interval(np.ones(18), y, clusters, seed=5) is None, "no variance"
