"""How well a score ranks the positives ahead of the negatives."""

from __future__ import annotations

import numpy as np


def auroc(scores: np.ndarray, labels: np.ndarray) -> float | None:
    """Share of (positive, negative) pairs that the positive wins, ties counting one half (spec section 7).

    A unit without a score is passed as minus infinity: it ranks below all others and ties with its like
    (OP-20). `None` unless both classes occur (OP-19). One sort, exact integer counts; NaN is not a score.
    """
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels, bool)
    levels, level = np.unique(scores, return_inverse=True)
    positives = np.bincount(level[labels], minlength=len(levels))
    negatives = np.bincount(level[~labels], minlength=len(levels))
    pairs = int(positives.sum()) * int(negatives.sum())
    if pairs == 0:
        return None
    beaten_twice = 2 * np.cumsum(negatives) - negatives  # all negatives below count two, equal ones count one
    return int(positives @ beaten_twice) / (2 * pairs)
