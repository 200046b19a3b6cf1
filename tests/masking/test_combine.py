from __future__ import annotations

import time

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.masking.combine import COMBINATIONS, GRID, jaccard, quantile_grid, select_jointly
from sm_ops.metrics import confusion

pytestmark = pytest.mark.unit

ONE, OTHER = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)


def test_combinations_by_hand():
    got = {name: combine(ONE, OTHER).astype(int).tolist() for name, combine in COMBINATIONS.items()}
    assert got == {"union": [1, 1, 1, 0], "intersection": [1, 0, 0, 0], "residual": [0, 1, 0, 0]}
    assert jaccard(ONE, OTHER) == 1 / 3
    assert jaccard(ONE, ONE) == 1
    assert jaccard(ONE, ~ONE) == 0
    assert jaccard(ONE & ~ONE, ONE & ~ONE) is None


def test_grid_is_of_critical_values_with_both_ends():
    assert quantile_grid(np.array([-np.inf, 5, 1, 3, 3]), 24).tolist() == [1, 3, 5]
    assert quantile_grid(np.arange(101.0), 5).tolist() == [0, 25, 50, 75, 100]
    assert quantile_grid(np.full(3, -np.inf)).tolist() == []
    assert len(quantile_grid(np.random.default_rng(0).random(5000))) == GRID


def test_joint_thresholds_are_the_best_of_all_pairs_and_the_largest_among_equals():
    rng = np.random.default_rng(22)
    chosen = set()
    for round_ in range(400):
        length = int(rng.integers(0, 25))
        one, other = (np.where(rng.random(length) < 0.85, rng.integers(0, 6, length) / 2.0, -np.inf) for _ in range(2))
        gold = rng.random(length) < 0.4
        name = list(COMBINATIONS)[round_ % 3]
        grids = [np.append(rng.permutation(quantile_grid(each, 4)), np.inf) for each in (one, other)]
        got = select_jointly(one, other, gold, name, *grids)
        pairs = [
            (confusion(COMBINATIONS[name](one >= a, other >= b), gold).f1 or 0.0, a, b)
            for a in grids[0].tolist()
            for b in grids[1].tolist()
        ]
        best, a, b = max(pairs)
        if best == 0:
            assert (got.surprise, got.other) == (None, None)
            assert got.counts == confusion(np.zeros(length), gold)
        else:
            assert (got.surprise, got.other) == (a, b)
            assert got.counts == confusion(COMBINATIONS[name](one >= a, other >= b), gold)
        chosen.add((name, best == 0, a == np.inf, b == np.inf))
    assert len(chosen) >= 8


def test_a_pair_can_beat_both_filters_alone():
    # each filter finds one half of the targets, above all the rest it says
    surprise = np.array([9, 9, 1, 1, 5, 0, 0, 0.0])
    other = np.array([0, 1, 8, 8, 0, 7, 0, 0.0])
    gold = np.array([1, 1, 1, 1, 0, 0, 0, 0], bool)
    joint = select_jointly(surprise, other, gold, "union", quantile_grid(surprise), quantile_grid(other))
    assert (joint.surprise, joint.other, joint.counts.f1) == (9, 8, 1.0)


def test_no_thresholds_and_unknown_combinations():
    none = np.zeros(0)
    assert select_jointly(np.ones(2), np.ones(2), np.ones(2, bool), "union", none, none).surprise is None
    with pytest.raises(InputError, match="union"):
        select_jointly(none, none, none, "unoin", none, none)


def test_a_million_units_and_576_pairs_take_about_a_second():
    rng = np.random.default_rng(23)
    one, other, gold = rng.random(10**6), rng.random(10**6), rng.random(10**6) < 0.02
    started = time.process_time()
    joint = select_jointly(one, other, gold, "union", quantile_grid(one), quantile_grid(other))
    assert time.process_time() - started < 5
    assert joint.counts == confusion((one >= joint.surprise) | (other >= joint.other), gold)
