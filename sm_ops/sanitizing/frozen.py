"""A threshold chosen over folds of the validation side and then frozen (paper F.3: "over five MBPP folds").

The paper does not say how five choices become one. Choice P-6: clusters are dealt into folds, those with targets apart
from the others, so that every fold has its share of both; each threshold is of the largest F1 on all folds but one,
and the frozen one is their median (of an even number the higher of the two in the middle, which masks less).
"""

from __future__ import annotations

from random import Random

import numpy as np

from sm_ops.calibration.thresholds import at_max_f1
from sm_ops.metrics import confusion
from sm_ops.sanitizing.measures import SEED, Json, masked_units
from sm_ops.sanitizing.units import Units


def choose(units: Units, name: str, folds: int) -> Json:
    """The frozen threshold of one filter, and how the folds agree.

    `tau` is None where most folds found nothing worth masking. `folds` has an entry each: the `tau` of the others and
    what it does on the fold itself (`f1`, null where that is undefined). `held_out` pools these (see `measures.at`).
    """
    levels, fold = units.levels[name], _dealt(units, folds)
    masked = np.zeros(len(units), bool)
    own: list[Json] = []
    for number in range(folds):
        out = fold == number
        tau = at_max_f1(levels[~out], units.gold[~out], units.weight[~out]).tau
        if tau is not None:
            masked[out] = levels[out] >= tau
        own.append({"tau": tau, "f1": confusion(masked[out], units.gold[out], units.weight[out]).f1})
    middle = sorted(np.inf if each["tau"] is None else each["tau"] for each in own)[folds // 2]
    return {
        "tau": float(middle) if np.isfinite(middle) else None,
        "folds": own,
        "held_out": masked_units(units, masked),
    }


def _dealt(units: Units, folds: int) -> np.ndarray:
    """The fold of each unit: of its cluster."""
    with_targets = np.unique(units.cluster[units.gold])
    others = np.setdiff1d(units.cluster, with_targets)
    found: dict[int, int] = {}
    for part in (with_targets.tolist(), others.tolist()):
        Random(SEED).shuffle(part)
        found |= {cluster: number % folds for number, cluster in enumerate(part)}
    return np.array([found[cluster] for cluster in units.cluster.tolist()], np.int64)
