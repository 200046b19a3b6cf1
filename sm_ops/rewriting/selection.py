"""Which units a budget chooses: a threshold that is a quantile of validation scores, then frozen.

A budget is a share of the units. The threshold is the smallest distinct validation score at which at most that share
is chosen; where even the largest score's ties are more, they are taken whole (choice R-5). `retrospective` takes the
quantile of the application's own scores, as the paper does for RedacBench: nobody knows it beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sm_ops.calibration.thresholds import curve
from sm_ops.core.records import Record
from sm_ops.metrics import auroc, auroc_interval_by_cluster

Json = dict[str, Any]
Row = tuple[int, int, float | None]
"""Start, end and score of a unit; None for one that cannot be scored, which is never chosen."""
Scores = list[list[Row]]
"""Units of each record."""
SEED = 0
POINTS = 200


def chosen(validation: Scores, application: Scores, budget: float, retrospective: bool) -> Json:
    """`tau`, the share of units chosen on each side, and the chosen intervals of each application record."""
    tau = quantile(_flat(application if retrospective else validation), budget)
    picked = [[(start, end) for start, end, score in own if _passes(score, tau)] for own in application]
    return {
        "tau": tau,
        "retrospective": retrospective,
        "units": sum(map(len, application)),
        "chosen": sum(map(len, picked)),
        "share": {"validation": _share(validation, tau), "application": _share(application, tau)},
        "intervals": picked,
    }


def by_itself(table: Json) -> Json:
    """The same of a detector's own spans: no budget, hence no threshold and no share of units."""
    spans = [[(start, end) for start, end in own] for own in table["native"]]
    return {
        "tau": None,
        "retrospective": False,
        "units": None,
        "chosen": sum(map(len, spans)),
        "share": None,
        "intervals": spans,
    }


def quantile(scores: np.ndarray, budget: float) -> float | None:
    """The threshold of a budget (minus infinity = cannot be chosen); None where no unit can be chosen."""
    values, counts = np.unique(scores[scores > -np.inf], return_counts=True)
    if not len(values):
        return None
    above = np.cumsum(counts[::-1])
    affordable = int(np.count_nonzero(above <= budget * len(scores) + 1e-9))
    return float(values[::-1][max(affordable, 1) - 1])


def together(sides: Sequence[tuple[Scores, Scores]]) -> tuple[Scores, Scores]:
    """Validation and application scores of several selectors as one: the largest of each unit's ranks.

    A unit's rank under a selector is the share of validation units that score less (choice R-6).
    """
    known = [np.sort(_flat(validation)) for validation, _ in sides]

    def ranked(scores: Sequence[Scores]) -> Scores:
        return [
            [(*units[0][:2], _largest([_rank(k, unit[2]) for k, unit in zip(known, units, strict=True)]))
             for units in zip(*records, strict=True)]
            for records in zip(*scores, strict=True)
        ]  # fmt: skip

    return ranked([validation for validation, _ in sides]), ranked([application for _, application in sides])


def separation(records: Sequence[Record], scores: Scores) -> Json | None:
    """AUROC of sentences that hold private content against the others, by documents' groups, and its curve.

    None where the records have no labelled spans.
    """
    gold, cluster = [], []
    numbers = {group: number for number, group in enumerate(dict.fromkeys(record.group for record in records))}
    for record, own in zip(records, scores, strict=True):
        for start, end, _ in own:
            gold.append(any(span.start < end and span.end > start for span in record.spans))
            cluster.append(numbers[record.group])
    levels, labels = _flat(scores), np.array(gold, bool)
    if not labels.any():
        return None
    ones = np.ones(len(levels), np.int64)
    low, high = auroc_interval_by_cluster(levels, labels, np.array(cluster), ones, SEED) or (None, None)
    full = curve(levels, labels)
    kept = np.unique(np.linspace(0, len(full.tau) - 1, POINTS).astype(int))
    return {
        "auroc": {"value": auroc(levels, labels), "low": low, "high": high},
        "roc": {"fpr": full.collateral[kept].tolist(), "tpr": full.coverage[kept].tolist()},
    }


def _flat(scores: Scores) -> np.ndarray:
    return np.array([-np.inf if score is None else score for own in scores for _, _, score in own], np.float64)


def _passes(score: float | None, tau: float | None) -> bool:
    return score is not None and tau is not None and score >= tau


def _share(scores: Scores, tau: float | None) -> float | None:
    passed = [_passes(score, tau) for own in scores for _, _, score in own]
    return sum(passed) / len(passed) if passed else None


def _rank(known: np.ndarray, score: float | None) -> float | None:
    return None if score is None else float(np.searchsorted(known, score)) / len(known)


def _largest(ranks: Sequence[float | None]) -> float | None:
    return max((rank for rank in ranks if rank is not None), default=None)
