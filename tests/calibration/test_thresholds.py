from __future__ import annotations

import numpy as np
import pytest

from sm_ops.calibration.suitability import verdict
from sm_ops.calibration.thresholds import at_max_f1, at_recall, curve
from sm_ops.core.errors import InputError
from sm_ops.metrics import confusion

pytestmark = pytest.mark.unit


def validation(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    length = int(rng.integers(0, 30))
    critical = np.where(rng.random(length) < 0.85, rng.integers(0, 9, length) / 2.0, -np.inf)
    return critical, rng.random(length) < 0.4


def test_recall_threshold_is_the_largest_that_reaches_the_target():
    rng = np.random.default_rng(17)
    outcomes = set()
    for _ in range(400):
        critical, gold = validation(rng)
        target = float(rng.integers(1, 21)) / 20
        point = at_recall(critical, gold, target)
        outcomes.add(point.reached)
        taus = sorted({tau for tau in critical.tolist() if tau > -np.inf})
        reaching = [tau for tau in taus if (confusion(critical >= tau, gold).tpr or 0) >= target]
        assert point.tau == max(reaching, default=None)
        assert point.reached == bool(reaching)
        widest = point.tau if point.reached else min(taus, default=np.inf)
        assert point.counts == confusion(critical >= widest, gold)
        assert point.masked == (critical >= widest).sum()
    assert outcomes == {True, False}


@pytest.mark.parametrize(("hits", "total", "target"), [(63, 90, 0.7), (95, 100, 0.95), (9, 10, 0.9), (7, 20, 0.35)])
def test_a_recall_of_exactly_the_target_is_enough(hits, total, target):
    critical = np.arange(total, 0, -1.0)
    assert at_recall(critical, np.ones(total, bool), target).masked == hits


@pytest.mark.parametrize("target", [0.0, -0.1, 1.01, float("nan")])
def test_targets_outside_the_unit_interval_are_refused(target):
    with pytest.raises(InputError, match="target recall"):
        at_recall(np.ones(3), np.ones(3, bool), target)


def test_max_f1_is_the_best_of_all_thresholds_and_the_largest_among_equals():
    rng = np.random.default_rng(18)
    for _ in range(400):
        critical, gold = validation(rng)
        point = at_max_f1(critical, gold)
        candidates = [(0.0, np.inf)] + [
            (confusion(critical >= tau, gold).f1 or 0.0, tau) for tau in set(critical.tolist()) if tau > -np.inf
        ]
        best, tau = max(candidates)
        assert point.tau == (None if best == 0 else tau)
        assert (point.f1 or 0.0) == best


def test_curve_holds_every_distinct_threshold():
    critical, gold = np.array([3, 1, 3, -np.inf, 2]), np.array([1, 1, 0, 1, 0], bool)
    got = curve(critical, gold)
    assert got.tau.tolist() == [np.inf, 3, 2, 1]
    np.testing.assert_allclose(got.coverage, [0, 1 / 3, 1 / 3, 2 / 3])
    assert got.collateral.tolist() == [0, 0.5, 1, 1]
    assert np.isnan(curve(critical, np.zeros(5, bool)).coverage).all()
    assert np.isnan(curve(critical, np.ones(5, bool)).collateral).all()


def points(*targets: float):
    critical = np.array([9, 8, 7, 6, 5, 4, 3, 2, 1, -np.inf])
    gold = np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 0], bool)
    return {f"SM{round(100 * target)}": at_recall(critical, gold, target) for target in targets}


def test_verdict_names_the_best_coverage_within_the_price():
    # SM50 costs nothing, SM75 one of six, SM100 two of six
    got = verdict(0.83, points(0.5, 0.75, 1.0), acceptable_collateral=0.2)
    assert got.suitable
    assert "SM75 covers 75.0%" in got.reason
    assert "16.7%" in got.reason
    assert "SM100 would cost more" in got.reason


def test_verdict_stops_for_a_reason():
    targets = points(1.0)
    unreachable = {"SM95": at_recall(np.array([2.0, -np.inf, 1.0]), np.array([1, 1, 0], bool), 0.95)}
    got = {
        name: verdict(auroc, thresholds, acceptable_collateral=0.2)
        for name, auroc, thresholds in (
            ("undefined", None, targets),
            ("inverted", 0.4, targets),
            ("unreachable", 0.6, unreachable),
            ("costly", 0.9, targets),
        )
    }
    assert {name: own.decision for name, own in got.items()} == {name: name for name in got}
    assert not any(own.suitable for own in got.values())
    assert "less surprising" in got["inverted"].reason
    assert "SM95" in got["unreachable"].reason
    assert "50.0%" in got["unreachable"].reason
    assert "33.3%" in got["costly"].reason
    assert verdict(0.9, {}, 0.2).decision == "costly"
