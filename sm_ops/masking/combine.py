"""Surprise masking beside another filter: combined masks, and thresholds selected jointly (section 9, paper F.1).

Masks are boolean arrays over the same units, downstream tokens or characters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.metrics import Confusion

GRID = 24
"""Thresholds per filter: 24 x 24 = 576 pairs (paper F.2)."""


def union(surprise: np.ndarray, other: np.ndarray) -> np.ndarray:
    """What either masks."""
    return surprise | other


def intersection(surprise: np.ndarray, other: np.ndarray) -> np.ndarray:
    """What both mask."""
    return surprise & other


def residual(surprise: np.ndarray, other: np.ndarray) -> np.ndarray:
    """What surprise masking adds to the other filter.

    To tune it there (section 8), choose its threshold on the units with `other` false.
    """
    return surprise & ~other


COMBINATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "union": union,
    "intersection": intersection,
    "residual": residual,
}


def combine(name: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The combination of a name; `InputError` for an unknown one."""
    if name not in COMBINATIONS:
        nearest = did_you_mean(name, COMBINATIONS)
        raise InputError("unknown-combination", f"There is no combination {name!r}; {nearest}.")
    return COMBINATIONS[name]


def jaccard(one: np.ndarray, other: np.ndarray) -> float | None:
    """Share of what either masks that both mask; `None` where neither masks anything (OP-28)."""
    either = int(np.count_nonzero(one | other))
    return int(np.count_nonzero(one & other)) / either if either else None


@dataclass(frozen=True, slots=True)
class Joint:
    """Thresholds on two filters' critical values and what their combined masks do.

    Both are `None` where no pair of the grid beats masking nothing (OP-23); infinity = that filter masks nothing.
    """

    surprise: float | None
    other: float | None
    counts: Confusion


def quantile_grid(critical: np.ndarray, size: int = GRID) -> np.ndarray:
    """At most `size` thresholds, increasing: values at evenly spaced ranks among those above minus infinity.

    The first and last are the smallest and the largest; each is a critical value, so a step of the curve (OP-22).
    """
    finite = np.sort(critical[critical > -np.inf])
    ranks = np.rint(np.linspace(0, max(len(finite) - 1, 0), size)).astype(np.int64)
    return np.unique(finite[ranks]) if len(finite) else finite


def select_jointly(
    surprise: np.ndarray,
    other: np.ndarray,
    gold: np.ndarray,
    combination: str,
    surprise_grid: np.ndarray,
    other_grid: np.ndarray,
) -> Joint:
    """The pair of thresholds of the grids whose combined masks have the largest F1 against `gold`.

    `surprise`, `other` (float64, minus infinity = never masked) are the critical values of N units under the two
    filters, `gold` (bool) says which are targets; `combination` is a key of `COMBINATIONS`. Among equal F1 the
    largest surprise threshold wins, then the largest of the other filter. Exact over the grids: every pair is
    counted, from one two-dimensional histogram, in O(N log G + G^2) for grids of G thresholds.
    """
    combine(combination)
    rows, columns = np.unique(surprise_grid), np.unique(other_grid)
    # How many of the increasing thresholds mask a unit: at threshold i it is masked exactly when more than i do.
    cell = np.searchsorted(rows, surprise, "right") * (len(columns) + 1) + np.searchsorted(columns, other, "right")
    gold = np.asarray(gold, bool)
    tp = _masked_by_pair(cell[gold], len(rows), len(columns), combination)
    predicted = _masked_by_pair(cell, len(rows), len(columns), combination)
    targets = int(np.count_nonzero(gold))
    f1 = 2 * tp / np.maximum(predicted + targets, 1)
    if not f1.any():
        return Joint(None, None, Confusion(tp=0, fp=0, fn=targets, tn=len(gold) - targets))
    row, column = divmod(int(f1.size - 1 - np.argmax(f1.ravel()[::-1])), len(columns))  # the last of equal ones
    hits, masked = int(tp[row, column]), int(predicted[row, column])
    counts = Confusion(tp=hits, fp=masked - hits, fn=targets - hits, tn=len(gold) - masked - targets + hits)
    return Joint(float(rows[row]), float(columns[column]), counts)


def _masked_by_pair(cell: np.ndarray, rows: int, columns: int, combination: str) -> np.ndarray:
    """How many units the combined masks hold at each pair of thresholds, (rows, columns)."""
    counts = np.bincount(cell, minlength=(rows + 1) * (columns + 1)).reshape(rows + 1, columns + 1)
    kept = counts.cumsum(axis=0).cumsum(axis=1)  # [i, j]: neither threshold i nor threshold j masks them
    kept_by_surprise, kept_by_other, total = kept[:-1, -1:], kept[-1:, :-1], kept[-1, -1]
    if combination == "residual":
        return kept_by_other - kept[:-1, :-1]
    masked = total - kept[:-1, :-1]
    return masked if combination == "union" else 2 * total - kept_by_surprise - kept_by_other - masked
