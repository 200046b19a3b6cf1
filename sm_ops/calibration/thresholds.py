"""Thresholds and threshold curves from critical values and labels (section 8).

Pass the eligible tokens of all validation records, pooled: `critical` float64 (minus infinity = never
masked), `gold` bool (target token). Other units do as well, and with `weight` (whole numbers) an entry stands for so
many equal units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.metrics import Confusion, confusion


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold and what the complete procedure does at it; `tau` is `None` where none serves.

    When a target recall is out of reach, the counts are those of the largest mask there is (best recall).
    """

    tau: float | None
    counts: Confusion

    @property
    def reached(self) -> bool:
        """Whether there is a threshold that serves; if not, a pipeline stops here."""
        return self.tau is not None

    @property
    def recall(self) -> float | None:
        """Share of the target tokens masked; `None` without targets."""
        return self.counts.tpr

    @property
    def collateral(self) -> float | None:
        """Share of the other tokens masked."""
        return self.counts.fpr

    @property
    def masked(self) -> int:
        """Number of masked tokens."""
        return self.counts.tp + self.counts.fp

    @property
    def f1(self) -> float | None:
        """F1 of the mask against the targets."""
        return self.counts.f1


@dataclass(frozen=True, slots=True)
class Curve:
    """Arrays over falling thresholds, from "mask nothing" at infinity; rates are NaN where undefined."""

    tau: np.ndarray
    coverage: np.ndarray
    collateral: np.ndarray


def at_threshold(critical: np.ndarray, gold: np.ndarray, tau: float, weight: np.ndarray | None = None) -> Threshold:
    """What the complete procedure does at a threshold that other data chose."""
    return Threshold(tau, confusion(critical >= tau, gold, weight))


def at_recall(critical: np.ndarray, gold: np.ndarray, target: float, weight: np.ndarray | None = None) -> Threshold:
    """The largest threshold whose recall is at least `target` in (0, 1] (OP-22).

    It is one of the critical values. `tau` is `None` when even the smallest does not reach the target, or
    without target tokens.
    """
    if not 0 < target <= 1:
        raise InputError("bad-target-recall", f"A target recall lies in (0, 1]; it is {target}.")
    steps = _steps(critical, gold, weight)
    reached = np.flatnonzero(steps.coverage >= target)
    if not len(reached):
        return Threshold(None, steps.counts(-1))
    return Threshold(float(steps.tau[reached[0]]), steps.counts(reached[0]))


def at_max_f1(critical: np.ndarray, gold: np.ndarray, weight: np.ndarray | None = None) -> Threshold:
    """The threshold of the largest F1, among equals the largest; `None` when nothing beats no mask (OP-23)."""
    steps = _steps(critical, gold, weight)
    f1 = 2 * steps.tp / np.maximum(steps.predicted + steps.targets, 1)
    best = int(np.argmax(f1))  # the first, so the largest threshold; step 0 masks nothing
    return Threshold(float(steps.tau[best]) if best else None, steps.counts(best))


def within(critical: np.ndarray, gold: np.ndarray, acceptable: float, weight: np.ndarray | None = None) -> Threshold:
    """The threshold of the largest coverage whose collateral masking rate is at most `acceptable` (section 5).

    Masks grow as thresholds fall, so it is the smallest such threshold; `tau` is `None` when every mask costs more.
    """
    steps = _steps(critical, gold, weight)
    others = steps.total - steps.targets
    affordable = int(np.flatnonzero(steps.predicted - steps.tp <= acceptable * others)[-1])
    return Threshold(float(steps.tau[affordable]) if affordable else None, steps.counts(affordable))


def by_category(
    critical: np.ndarray, members: Mapping[str, np.ndarray], weight: np.ndarray | None = None
) -> dict[str, Threshold]:
    """One threshold per category by the largest F1 on that category's units, and the `pooled` one (OP-25).

    `members` maps each category to the units that belong to it (bool). Units of other categories alone are left out
    of a category's counts. A category without units here has no threshold of its own and takes the pooled one.
    """
    gold = np.any([np.zeros(len(critical), bool), *members.values()], axis=0)
    pooled = at_max_f1(critical, gold, weight)
    found = {"pooled": pooled}
    for name, own in members.items():
        counted = own | ~gold
        point = at_max_f1(critical[counted], own[counted], None if weight is None else weight[counted])
        found[name] = point if own.any() else replace(point, tau=pooled.tau)
    return found


def curve(critical: np.ndarray, gold: np.ndarray, weight: np.ndarray | None = None) -> Curve:
    """Target coverage against collateral masking rate at every threshold that changes the mask."""
    steps = _steps(critical, gold, weight)
    return Curve(
        tau=steps.tau,
        coverage=steps.coverage,
        collateral=(steps.predicted - steps.tp) / ((steps.total - steps.targets) or np.nan),
    )


@dataclass(frozen=True, slots=True)
class _Steps:
    """Cumulative counts over falling thresholds; step 0 masks nothing."""

    tau: np.ndarray
    tp: np.ndarray
    predicted: np.ndarray
    targets: int
    total: int

    @property
    def coverage(self) -> np.ndarray:
        return self.tp / (self.targets or np.nan)

    def counts(self, step: int) -> Confusion:
        tp, fp = int(self.tp[step]), int(self.predicted[step] - self.tp[step])
        return Confusion(tp=tp, fp=fp, fn=self.targets - tp, tn=self.total - self.targets - fp)


def _steps(critical: np.ndarray, gold: np.ndarray, weight: np.ndarray | None) -> _Steps:
    gold = np.asarray(gold, bool)
    weight = np.ones(len(gold), np.int64) if weight is None else weight
    falling = np.flatnonzero(critical > -np.inf)
    falling = falling[np.argsort(-critical[falling])]
    tau = critical[falling]
    last = np.append(tau[1:] != tau[:-1], True)[: len(tau)]

    def counted(units: np.ndarray) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(units)[last]]).astype(np.int64)

    return _Steps(
        tau=np.concatenate([[np.inf], tau[last]]),
        tp=counted(np.where(gold, weight, 0)[falling]),
        predicted=counted(weight[falling]),
        targets=int(weight[gold].sum()),
        total=int(weight.sum()),
    )
