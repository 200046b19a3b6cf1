"""What a recall on few identities says of further ones: exact intervals by independent unit.

A token is no independent observation: the tokens of one identity, or of one document, are masked together or missed
together. A recall over units that each count fully or not at all is binomial, and Clopper and Pearson's interval is
exact; a unit that is partly covered varies less, so that the interval is then wider than need be.
"""

from __future__ import annotations

from math import ceil, floor, log

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


def required_recall(target: float, units: int, confidence: float) -> float | None:
    """The recall to reach on `units` units so that it is at least `target` with the given confidence.

    The smallest share whose one-sided Clopper-Pearson bound is not below the target; `None` when even full recall
    on so few units does not show it. Recall only grows as thresholds fall, so choosing the largest threshold that
    reaches it needs no correction for having looked at many.
    """
    needed = hits_needed(units, target, confidence)
    return None if needed is None or units == 0 else needed / units


def required_units(target: float, confidence: float) -> int | None:
    """How many independent units it takes to show a recall below 1, if all of them are covered."""
    return ceil(log(1 - confidence) / log(target)) if target < 1 else None
