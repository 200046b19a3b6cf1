"""Surprise masking beside another filter: combined masks, and thresholds selected jointly (section 9, paper F.1).

Masks are boolean arrays over the same units, downstream tokens or characters. With `weight` (whole numbers) an entry
stands for so many equal units.
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


def jaccard(one: np.ndarray, other: np.ndarray, weight: np.ndarray | None = None) -> float | None:
    """Share of what either masks that both mask; `None` where neither masks anything (OP-28)."""
    both, either = (
        int(np.count_nonzero(masked) if weight is None else weight[masked].sum())
        for masked in (one & other, one | other)
    )
    return both / either if either else None


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
    weight: np.ndarray | None = None,
) -> Joint:
    """The pair of thresholds of the grids whose combined masks have the largest F1 against `gold`.

    `surprise`, `other` (float64, minus infinity = never masked) are the critical values of N units under the two
    filters, `gold` (bool) says which are targets; `combination` is a key of `COMBINATIONS`. Among equal F1 the
    largest surprise threshold wins, then the largest of the other filter. Exact over the grids (see `pair_counts`).
    """
    rows, columns = np.unique(surprise_grid), np.unique(other_grid)
    tp, fp, targets, total = pair_counts(surprise, other, gold, combination, rows, columns, weight)
    f1 = 2 * tp / np.maximum(tp + fp + targets, 1)
    if not f1.any():
        return Joint(None, None, Confusion(tp=0, fp=0, fn=targets, tn=total - targets))
    row, column = divmod(int(f1.size - 1 - np.argmax(f1.ravel()[::-1])), len(columns))  # the last of equal ones
    hits, missed = int(tp[row, column]), int(fp[row, column])
    counts = Confusion(tp=hits, fp=missed, fn=targets - hits, tn=total - targets - missed)
    return Joint(float(rows[row]), float(columns[column]), counts)


def pair_counts(
    surprise: np.ndarray,
    other: np.ndarray,
    gold: np.ndarray,
    combination: str,
    surprise_grid: np.ndarray,
    other_grid: np.ndarray,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """TP and FP of the combined masks at each pair of thresholds (rows: of `surprise_grid`), targets, and all units.

    The grids increase. Every pair is counted, from one two-dimensional histogram, in O(N log G + G^2) for grids of G
    thresholds.
    """
    combine(combination)
    rows, columns = len(surprise_grid), len(other_grid)
    weight = np.ones(len(gold), np.int64) if weight is None else weight
    # How many of the increasing thresholds mask a unit: at threshold i it is masked exactly when more than i do.
    cell = np.searchsorted(surprise_grid, surprise, "right") * (columns + 1)
    cell += np.searchsorted(other_grid, other, "right")
    gold = np.asarray(gold, bool)
    tp, fp = (_masked_by_pair(cell[own], weight[own], rows, columns, combination) for own in (gold, ~gold))
    return tp, fp, int(weight[gold].sum()), int(weight.sum())


def _masked_by_pair(cell: np.ndarray, weight: np.ndarray, rows: int, columns: int, combination: str) -> np.ndarray:
    """How many units the combined masks hold at each pair of thresholds, (rows, columns)."""
    counts = np.bincount(cell, weight, (rows + 1) * (columns + 1)).astype(np.int64).reshape(rows + 1, columns + 1)
    kept = counts.cumsum(axis=0).cumsum(axis=1)  # [i, j]: neither threshold i nor threshold j masks them
    kept_by_surprise, kept_by_other, total = kept[:-1, -1:], kept[-1:, :-1], kept[-1, -1]
    if combination == "residual":
        return kept_by_other - kept[:-1, :-1]
    masked = total - kept[:-1, :-1]
    return masked if combination == "union" else 2 * total - kept_by_surprise - kept_by_other - masked
