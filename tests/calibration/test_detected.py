"""What a detector finds as critical values of downstream tokens, and who chooses its threshold: by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from masking.brute_force import tokens

from sm_ops.calibration.detected import critical_values, mask, sample, threshold
from sm_ops.core.records import Record, Span

pytestmark = pytest.mark.unit
NEVER = -np.inf
PLACES = [(0, 2), (2, 4), (4, 6), (6, 8)]
RECORD = Record("r", text="aabbccdd", spans=(Span(2, 6, "value"),))


def found(*intervals: tuple[int, int, float]) -> SimpleNamespace:
    columns = np.array(intervals, float).reshape(-1, 3).T
    return SimpleNamespace(starts=columns[0].astype(np.int64), ends=columns[1].astype(np.int64), levels=columns[2])


def critical(*intervals: tuple[int, int, float], **changes) -> list[float]:
    return critical_values([found(*intervals)], [tokens(4, PLACES, **changes)])[0].tolist()


def test_a_token_has_the_largest_score_that_shares_a_character_with_it() -> None:
    assert critical((3, 5, 0.5), (5, 6, 0.9)) == [NEVER, 0.5, 0.9, NEVER]
    assert critical((2, 2, 1.0)) == [NEVER] * 4
    assert critical() == [NEVER] * 4
    assert critical((0, 8, -3.5)) == [-3.5] * 4


def test_what_is_not_learned_anyway_is_never_masked() -> None:
    assert critical((0, 8, 0.5), supervised=[False, True, True, True]) == [NEVER, 0.5, 0.5, 0.5]
    assert critical((0, 8, 0.5), special=[True, False, False, False]) == [NEVER, 0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("own", "target", "tau", "masked"),
    [
        (0.0, None, 0.0, 3),  # all that is found, a wrong one among it
        (None, None, 0.7, 2),  # F1 1: both targets, nothing else
        (None, 0.5, 0.9, 1),
        (None, 1.0, 0.7, 2),
    ],
)
def test_the_threshold_is_the_detectors_own_or_chosen_on_validation(own, target, tau, masked) -> None:
    own_tokens = [tokens(4, PLACES)]
    values = critical_values([found((2, 4, 0.7), (4, 6, 0.9), (6, 8, 0.2))], own_tokens)
    point = threshold(sample([RECORD], values, own_tokens), own, target)
    assert (point.tau, point.masked) == (tau, masked)


def test_a_recall_out_of_reach_has_no_threshold() -> None:
    own_tokens = [tokens(4, PLACES)]
    values = critical_values([found((2, 4, 0.7))], own_tokens)
    point = threshold(sample([RECORD], values, own_tokens), None, 0.9)
    assert (point.tau, point.recall) == (None, 0.5)


def test_equality_masks_and_without_a_threshold_nothing_is_masked() -> None:
    values = np.array([NEVER, 0.2, 0.7, 1000.0])
    assert mask(values, 0.7).tolist() == [False, False, True, True]
    assert mask(values, None).tolist() == [False] * 4


def test_groups_are_the_independent_units() -> None:
    records = [Record(name, text="aabbccdd", group=group) for name, group in (("a", "x"), ("b", None), ("c", "x"))]
    own_tokens = [tokens(4, PLACES)] * 3
    assert (
        sample(records, critical_values([found()] * 3, own_tokens), own_tokens).unit.tolist()
        == [0] * 4 + [1] * 4 + [0] * 4
    )
