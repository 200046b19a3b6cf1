"""Counts of a binary decision against the truth, and the rates that follow from them (spec section 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Confusion:
    """Pooled counts; a rate whose denominator is zero is `None`, never 0 (OP-19)."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def tpr(self) -> float | None:
        """Share of the gold units that were predicted: recall, target coverage."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def fpr(self) -> float | None:
        """Share of the other units that were predicted: the collateral masking rate."""
        return _ratio(self.fp, self.fp + self.tn)

    @property
    def precision(self) -> float | None:
        """Share of the predicted units that are gold."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def f1(self) -> float | None:
        """2tp / (2tp + fp + fn): 0 where nothing was hit, `None` where there was nothing to hit or miss."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def confusion(predicted: np.ndarray, gold: np.ndarray, weight: np.ndarray | None = None) -> Confusion:
    """Count two boolean arrays of equal length against each other, pooled over all units.

    With `weight` (whole numbers) an entry stands for so many equal units.
    """
    predicted, gold = np.asarray(predicted, bool), np.asarray(gold, bool)
    tp, masked, targets, total = (
        int(np.count_nonzero(own) if weight is None else weight[own].sum())
        for own in (predicted & gold, predicted, gold, np.ones(len(gold), bool))
    )
    return Confusion(tp=tp, fp=masked - tp, fn=targets - tp, tn=total - masked - targets + tp)


def category_view(own: np.ndarray, other: np.ndarray, documents: np.ndarray | None = None) -> np.ndarray:
    """Which units count for a category (bool): not those of other categories, unless they also belong to it.

    `own`, `other` say which units belong to the category and to any other one. With `documents` (each unit's
    document number) only documents that hold a unit of the category count: the family view (section 7).
    Count `predicted[view]` against `own[view]`.
    """
    own, other = np.asarray(own, bool), np.asarray(other, bool)
    view = own | ~other
    return view if documents is None else view & np.isin(documents, np.unique(documents[own]))


def _ratio(numerator: int, denominator: int) -> float | None:
    return numerator / denominator if denominator else None
