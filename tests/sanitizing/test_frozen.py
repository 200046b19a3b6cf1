"""A threshold over folds: each of the others' own, held-out counts by hand, and the median frozen."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.records import Record, Span
from sm_ops.sanitizing.frozen import choose
from sm_ops.sanitizing.profiles import Profile
from sm_ops.sanitizing.units import Units, lines

pytestmark = pytest.mark.unit


def units(rows: list[tuple[int, bool, float]]) -> Units:
    """A line for each `(cluster, target, level)`."""
    records = [
        Record(str(number), text="x", group=f"g{cluster}", spans=(Span(0, 1, "t"),) if gold else ())
        for number, (cluster, gold, _) in enumerate(rows)
    ]
    profiles = [Profile.of(1, np.array([0]), np.array([1]), np.array([level])) for _, _, level in rows]
    return lines(records, {"f": profiles})


def test_the_median_of_the_folds_thresholds_is_frozen():
    """Ten clusters, a target at 5, 6, ... in each, other units below 1.

    Two targets are held out at a time. Only where the lowest one is among them, the others' threshold misses it.
    """
    found = choose(units([row for n in range(10) for row in ((n, True, 5.0 + n), (n, False, n / 10))]), "f", 5)
    taus = sorted(each["tau"] for each in found["folds"])
    assert taus[:4] == [5.0] * 4
    assert taus[4] in (6.0, 7.0)
    assert found["tau"] == 5.0
    missed = int(taus[4] - 5)
    assert found["held_out"]["counts"] == {"tp": 10 - missed, "fp": 0, "fn": missed, "tn": 10}


def test_a_fold_does_not_see_its_own_units():
    """Two clusters in two folds: each is judged by the threshold of the other, 7 or 3."""
    rows = [(0, True, 3.0), (0, False, 2.0), (1, True, 7.0), (1, False, 6.0)]
    found = choose(units(rows), "f", 2)
    assert sorted(each["tau"] for each in found["folds"]) == [3.0, 7.0]
    assert found["tau"] == 7.0
    assert found["held_out"]["counts"] == {"tp": 1, "fp": 1, "fn": 1, "tn": 1}


def test_clusters_stay_whole_and_targets_are_spread():
    """Of six clusters, three hold targets: three folds get one of them each, so every fold's F1 is defined."""
    rows = [(n, n < 3 and part == 0, float(n < 3 and part == 0)) for n in range(6) for part in range(4)]
    found = choose(units(rows), "f", 3)
    assert [each["f1"] for each in found["folds"]] == [1.0, 1.0, 1.0]


def test_without_targets_nothing_is_masked():
    found = choose(units([(n, False, float(n)) for n in range(6)]), "f", 3)
    assert found["tau"] is None
    assert found["held_out"]["counts"] == {"tp": 0, "fp": 0, "fn": 0, "tn": 6}


def test_the_same_units_give_the_same_choice():
    rng = np.random.default_rng(1)
    rows = [(int(n), bool(rng.random() < 0.3), float(rng.normal())) for n in range(40) for _ in range(3)]
    assert choose(units(rows), "f", 5) == choose(units(rows), "f", 5)
