"""Certainty by independent unit, against closed forms and against repeated draws."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.calibration.certainty import at_confidence, recall_interval, required_units
from sm_ops.calibration.judge import elsewhere, judge
from sm_ops.calibration.protocol import halves
from sm_ops.calibration.sample import Sample
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span

pytestmark = pytest.mark.unit


def sampled(critical, gold, unit) -> Sample:
    gold = np.asarray(gold, bool)
    unit = np.asarray(unit, np.int64)
    return Sample(np.asarray(critical, np.float64), gold, unit, unit, {"x": gold})


def test_units_of_equal_size_count_fully_and_unequal_ones_less():
    assert sampled(np.zeros(6), [1] * 6, [0, 0, 1, 1, 2, 2]).units == 3
    assert sampled(np.zeros(6), [1] * 6, [0, 0, 0, 0, 1, 2]).units == 2  # 36 / (16 + 1 + 1)
    assert sampled(np.zeros(3), [1, 0, 0], [0, 1, 2]).units == 1  # others without targets say nothing
    assert sampled(np.zeros(2), [0, 0], [0, 1]).units == 0


def test_interval_is_clopper_pearsons_and_rounds_outwards():
    assert recall_interval(1.0, 4) == pytest.approx((0.025**0.25, 1.0))
    assert recall_interval(0.0, 4) == pytest.approx((0.0, 1 - 0.025**0.25))
    half = recall_interval(0.5, 4)
    between = recall_interval(0.55, 4)  # 2.2 of 4: from 2 below, from 3 above
    three = recall_interval(0.75, 4)
    assert between == (half[0], three[1])
    assert recall_interval(None, 4) is None
    assert recall_interval(0.5, 0) is None


@pytest.mark.parametrize(("target", "confidence", "expected"), [(0.5, 0.95, 5), (0.95, 0.95, 59), (0.9, 0.9, 22)])
def test_how_many_units_it_takes(target, confidence, expected):
    """All of n covered show a share s with confidence c exactly when s^n <= 1 - c."""
    assert required_units(target, confidence) == expected
    for n, shown in ((expected - 1, False), (expected, True)):
        assert (target**n <= 1 - confidence) == shown
        sample = sampled(np.arange(n), np.ones(n), np.arange(n))
        assert at_confidence(sample, target, confidence).reached == shown


@pytest.mark.slow
def test_threshold_holds_for_further_units_as_often_as_it_says():
    """Units of several tokens that hang together; 2,000 calibrations on 40 units each, checked on the truth."""
    rng = np.random.default_rng(0)
    target, confidence, n, size = 0.7, 0.9, 40, 3
    unit = np.repeat(np.arange(n), size)
    held = 0
    for _ in range(2000):
        strength = rng.normal(size=n)
        critical = np.repeat(strength, size) + 0.3 * np.abs(rng.normal(size=n * size))
        point = at_confidence(sampled(critical, np.ones(n * size), unit), target, confidence)
        further = rng.normal(size=4000)[:, None] + 0.3 * np.abs(rng.normal(size=(4000, size)))
        held += (further.min(axis=1) >= point.tau).mean() >= target - 0.015  # the truth is itself estimated
    assert held / 2000 >= confidence - 3 * np.sqrt(0.09 / 2000)


def test_a_unit_that_nothing_masks_leaves_no_threshold():
    point = at_confidence(sampled([1.0, -np.inf, 3.0], [1, 1, 1], [0, 1, 2]), 0.3, 0.95)
    assert not point.reached


def test_judgement_elsewhere_tells_the_gap():
    here = sampled([5, 4, 3, 2, 1, 0], [1, 1, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5])
    there = sampled([5, 2, 3, 4, 1, 0], [1, 1, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5])
    judgement = judge(here, {"SM100": 1.0}, acceptable_collateral=0.25)
    assert judgement["points"]["SM100"]["tau"] == 4.0
    assert judgement["acceptable"]["target_coverage"] == 1.0
    other = elsewhere(judgement, there, 0.25)
    assert other["points"]["SM100"]["target_coverage"] == 0.5
    assert other["points"]["SM100"]["collateral_rate"] == 0.25
    assert other["acceptable"]["target_coverage"] == 0.5
    assert other["gap"] == 0.5
    assert judgement["auroc"] == 1.0
    assert other["auroc"] == 0.75  # six of eight pairs
    assert judgement["f1"]["value"] == 1.0
    assert other["f1"]["value"] == 0.5  # the validation threshold of 4 hits one of two and takes one other along
    assert other["curve"]["target_coverage"][1] == 0.5
    assert other["curve"]["collateral_rate"][:3] == [0.0, 0.0, 0.25]


def test_halves_share_no_group_and_do_not_depend_on_order():
    spans = (Span(0, 1, "x"),)
    records = [Record(f"r{n}", text="ab", group=f"g{n % 5}", spans=spans if n % 5 < 4 else ()) for n in range(20)]
    records += [Record(f"lone{n}", text="ab", spans=spans) for n in range(4)]
    one, other = halves(records)
    assert sorted(one + other) == list(range(24))
    groups = [{records[n].group or records[n].id for n in half} for half in (one, other)]
    assert not groups[0] & groups[1]
    order = np.random.default_rng(1).permutation(24)
    shuffled = halves([records[n] for n in order])
    assert {records[order[n]].id for n in shuffled[0]} == {records[n].id for n in one}
    with_targets = [{records[n].group or records[n].id for n in half if records[n].spans} for half in (one, other)]
    assert {len(each) for each in with_targets} == {4}
    with pytest.raises(InputError, match="at least two groups"):
        halves(records[:1])


def test_confidence_does_not_hide_that_there_is_nothing_to_show():
    """Without targets nothing is defined; where targets are the least surprising, more of them would not help."""
    nothing = judge(sampled([2.0, 1.0], [0, 0], [0, 1]), {"SM95": 0.95}, 0.25, confidence=0.9)
    assert nothing["verdict"]["decision"] == "undefined"
    inverted = judge(sampled([2.0, 1.0, 0.5], [0, 0, 1], [0, 1, 2]), {"SM95": 0.95}, 0.25, confidence=0.9)
    assert inverted["verdict"]["decision"] == "inverted"
