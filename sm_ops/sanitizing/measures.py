"""How one filter separates and masks labelled units: rates with intervals over clusters, by category, and curves.

Every function takes `Units` and the name of a filter among their levels, and gives plain JSON. A rate is `{value, low,
high}`, its interval a bootstrap of 95 % over clusters (documents, repositories), never over characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sm_ops.calibration.thresholds import curve
from sm_ops.metrics import auroc, auroc_interval_by_cluster, confusion, ratio_interval
from sm_ops.sanitizing.units import Units

Json = dict[str, Any]
SEED = 0
CURVE_POINTS = 200


def separation(units: Units, name: str) -> Json:
    """AUROC of a filter's levels, ties one half (section 7)."""
    levels = units.levels[name]
    interval = auroc_interval_by_cluster(levels, units.gold, units.cluster, units.weight, SEED)
    return _value(auroc(levels, units.gold, units.weight), interval)


def at(units: Units, name: str, tau: float | None) -> Json:
    """What a filter does at a threshold (None masks nothing): rates, their intervals, and pooled counts."""
    return masked_units(units, np.zeros(len(units), bool) if tau is None else units.levels[name] >= tau)


def masked_units(units: Units, masked: np.ndarray) -> Json:
    """The same of any mask (bool, an entry each): `tpr`, `fpr`, `precision`, `f1`, `preservation`, and `counts`.

    `preservation` is the share of other content that stays, 1 - FPR.
    """
    pooled = confusion(masked, units.gold, units.weight)
    by_cluster = counts_by_cluster(units, masked)
    tp, fp, fn, tn = by_cluster
    parts = {
        "tpr": (tp, tp + fn),
        "fpr": (fp, fp + tn),
        "precision": (tp, tp + fp),
        "f1": (2 * tp, 2 * tp + fp + fn),
        "preservation": (tn, fp + tn),
    }
    return {
        **{name: _value(_ratio(own), ratio_interval(*own, SEED)) for name, own in parts.items()},
        "counts": {"tp": pooled.tp, "fp": pooled.fp, "fn": pooled.fn, "tn": pooled.tn},
        "clusters": by_cluster.shape[1],
    }


def counts_by_cluster(units: Units, masked: np.ndarray) -> np.ndarray:
    """TP, FP, FN and TN of each cluster that has units: int64 of shape (4, clusters)."""
    found, cluster = np.unique(units.cluster, return_inverse=True)
    cells = (masked & units.gold, masked & ~units.gold, ~masked & units.gold, ~masked & ~units.gold)
    return np.array([np.bincount(cluster[own], units.weight[own], len(found)) for own in cells], np.int64)


def by_category(units: Units, name: str, tau: float | None, families: Mapping[str, str] | None = None) -> list[Json]:
    """A filter at one threshold as each category sees it, or each family of categories (section 7).

    With `families` (category -> family) only documents that hold a unit of the family enter. A row has `category`,
    `documents` and `clusters` that hold it, `target_units`, `auroc` and what `at` gives.
    """
    groups: dict[str, list[str]] = {}
    for category in units.members:
        groups.setdefault(category if families is None else families[category], []).append(category)
    return [
        {"category": group, **_one(units.of_category(names, whole_documents=families is None), name, tau)}
        for group, names in sorted(groups.items())
    ]


def roc(units: Units, name: str, points: int = CURVE_POINTS) -> Json:
    """Coverage against collateral at falling thresholds, thinned to so many points: `fpr`, `tpr`, `tau`, `precision`.

    The first point masks nothing (its `tau` is null), the last everything that the filter can mask.
    """
    full = curve(units.levels[name], units.gold, units.weight)
    kept = np.unique(np.linspace(0, len(full.tau) - 1, points).astype(int))
    hit = full.coverage[kept] * float(units.weight[units.gold].sum())
    missed = full.collateral[kept] * float(units.weight[~units.gold].sum())
    with np.errstate(invalid="ignore"):
        precision = hit / (hit + missed)
    return {
        "tau": [None if not np.isfinite(tau) else float(tau) for tau in full.tau[kept]],
        "tpr": _listed(full.coverage[kept]),
        "fpr": _listed(full.collateral[kept]),
        "precision": _listed(precision),
    }


def _one(units: Units, name: str, tau: float | None) -> Json:
    own = units.gold
    return {
        "documents": len(np.unique(units.record[own])),
        "target_units": int(units.weight[own].sum()),
        "auroc": separation(units, name),
        **at(units, name, tau),
    }


def _ratio(own: Sequence[np.ndarray]) -> float | None:
    part, whole = (int(each.sum()) for each in own)
    return part / whole if whole else None


def _value(value: float | None, interval: tuple[float, float] | None) -> Json:
    low, high = interval or (None, None)
    return {"value": value, "low": low, "high": high}


def _listed(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]

