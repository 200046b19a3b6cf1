"""What a recall on few identities says of further ones: exact intervals by independent unit.

A token is no independent observation: the tokens of one identity, or of one document, are masked together or missed
together. A recall over units that each count fully or not at all is binomial, and Clopper and Pearson's interval is
exact; a unit that is partly covered varies less, so that the interval is then wider than need be.
"""

from __future__ import annotations

from math import ceil, floor, log

import numpy as np

from sm_ops.calibration.sample import Sample
from sm_ops.calibration.thresholds import Threshold, at_recall, at_threshold
from sm_ops.metrics import clopper_pearson, hits_needed

_SLACK = 1e-9  # a share of n units, multiplied by n again, is that number


def recall_interval(recall: float | None, units: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Two-sided Clopper-Pearson interval of a recall on `units` independent units; `None` without any.

    A number of covered units that is not whole is rounded outwards.
    """
    if recall is None or units == 0:
        return None
    covered = recall * units
    low = clopper_pearson(floor(covered + _SLACK), units, confidence)
    high = clopper_pearson(ceil(covered - _SLACK), units, confidence)
    return (low[0], high[1]) if low and high else None


def at_confidence(sample: Sample, target: float, confidence: float) -> Threshold:
    """The largest threshold at which, with this confidence, the target share of further units is masked completely.

    A further unit's expected recall is then at least the target, however its tokens hang together. The threshold is
    the k-th largest of the units' own ones (the smallest critical value of a unit's targets), where k of n is the
    fewest hits whose one-sided Clopper-Pearson bound is not below the target: a distribution-free tolerance limit,
    exact although the same units choose it. Its `tau` is `None` where so few units do not show the target.
    """
    whole = np.sort(whole_units(sample))[::-1]
    needed = hits_needed(len(whole), target, confidence) if len(whole) else None
    if needed is None or whole[needed - 1] == -np.inf:
        return Threshold(None, at_recall(sample.critical, sample.gold, 1.0).counts)
    return at_threshold(sample.critical, sample.gold, float(whole[needed - 1]))


def whole_units(sample: Sample) -> np.ndarray:
    """For each unit with targets the largest threshold at which all of them are masked (minus infinity = never)."""
    units, unit = np.unique(sample.unit[sample.gold], return_inverse=True)
    whole = np.full(len(units), np.inf)
    np.minimum.at(whole, unit, sample.critical[sample.gold])
    return whole


def required_units(target: float, confidence: float) -> int | None:
    """How many independent units it takes to show a recall below 1, if all of them are covered."""
    return ceil(log(1 - confidence) / log(target)) if target < 1 else None
