"""How one filter separates and masks labelled units: rates with intervals over clusters, by category, and curves.

Every function takes `Units` and the name of a filter among their levels, and gives plain JSON. A rate is `{value, low,
high}`, its interval a bootstrap of 95 % over clusters (documents, repositories), never over characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sm_ops.calibration.thresholds import curve
from sm_ops.core.errors import InputError
from sm_ops.metrics import Separation, ratio_intervals
from sm_ops.sanitizing.units import Units

Json = dict[str, Any]
SEED = 0
RATES = ("auroc", "tpr", "fpr", "precision", "f1", "preservation")
CURVE_POINTS = 200
_ALL = slice(None)


def rates(units: Units, name: str, tau: float | None) -> Json:
    """`auroc`, ties one half (section 7), and what `at` gives."""
    ranked = Separation(units.levels[name], units.gold, units.cluster, units.weight)
    return {"auroc": value(ranked.auroc(), ranked.interval(SEED)), **at(units, name, tau)}


def at(units: Units, name: str, tau: float | None) -> Json:
    """What a filter does at a threshold (None masks nothing): rates, their intervals, and pooled counts."""
    return masked_units(units, mask(units, name, tau))


def mask(units: Units, name: str, tau: float | None) -> np.ndarray:
    """What a filter masks at a threshold (bool, an entry each); None masks nothing."""
    return np.zeros(len(units), bool) if tau is None else units.levels[name] >= tau


def masked_units(units: Units, masked: np.ndarray) -> Json:
    """The same of any mask (bool, an entry each): `tpr`, `fpr`, `precision`, `f1`, `preservation`, and `counts`.

    `preservation` is the share of other content that stays, 1 - FPR.
    """
    return _counted(counts_by_cluster(units, masked))


def counts_by_cluster(units: Units, masked: np.ndarray, kept: np.ndarray | slice = _ALL) -> np.ndarray:
    """TP, FP, FN and TN of each cluster (a column each), int64; of some entries with `kept`."""
    cell = 2 * ~masked[kept] + ~units.gold[kept] + 4 * units.cluster[kept]
    size = int(units.cluster.max(initial=-1)) + 1
    return np.bincount(cell, units.weight[kept], 4 * size).astype(np.int64).reshape(size, 4).T


def f1_parts(by_cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F1 as a ratio of sums over clusters: 2TP, and 2TP + FP + FN."""
    tp, fp, fn, _ = by_cluster
    return 2 * tp, 2 * tp + fp + fn


def by_category(units: Units, name: str, tau: float | None) -> list[Json]:
    """A filter at one threshold as each category sees it: its own units against other content (section 7).

    A row has `category`, `documents` that hold it, `target_units`, and what `rates` gives.
    """
    ranked = Separation(units.levels[name], units.gold, units.cluster, units.weight)
    masked = mask(units, name, tau)
    others = counts_by_cluster(units, masked, ~units.gold)
    return [
        {
            "category": category,
            "documents": len(np.unique(units.record[own])),
            "target_units": int(units.weight[own].sum()),
            "auroc": value(ranked.auroc(own), ranked.interval(SEED, own)),
            **_counted(others + counts_by_cluster(units, masked, own)),
        }
        for category, own in sorted(units.members.items())
    ]


def by_family(units: Units, name: str, tau: float | None, families: Mapping[str, str]) -> list[Json]:
    """The same by family of categories (category -> family), where only documents that hold the family count.

    Raises `InputError` for a category without a family.
    """
    if strange := sorted(units.members.keys() - families.keys()):
        raise InputError(
            "no-family", f"The map of families has no family for {', '.join(strange)}; add a line for each of them."
        )
    members: dict[str, list[str]] = {}
    for category in units.members:
        members.setdefault(families[category], []).append(category)
    found = []
    for family, own in sorted(members.items()):
        view = units.of_category(own, whole_documents=False)
        merged = replace(view, members={family: np.flatnonzero(view.gold)})
        found += by_category(merged, name, tau)
    return found


def roc(units: Units, name: str, points: int = CURVE_POINTS) -> Json:
    """Coverage against collateral at falling thresholds, thinned to so many points: `fpr`, `tpr`, `tau`, `precision`.

    Points stand at even steps of both rates together. The first masks nothing (its `tau` is null), the last everything
    that the filter can mask.
    """
    full = curve(units.levels[name], units.gold, units.weight)
    passed = np.nan_to_num(full.coverage) + np.nan_to_num(full.collateral)
    kept = np.unique(np.searchsorted(passed, np.linspace(0, passed[-1], points)))
    hit = full.coverage[kept] * float(units.weight[units.gold].sum())
    missed = full.collateral[kept] * float(units.weight[~units.gold].sum())
    with np.errstate(invalid="ignore"):
        precision = hit / (hit + missed)
    return {
        "tau": [None if not np.isfinite(tau) else float(tau) for tau in full.tau[kept]],
        "tpr": listed(full.coverage[kept]),
        "fpr": listed(full.collateral[kept]),
        "precision": listed(precision),
    }


def _counted(by_cluster: np.ndarray) -> Json:
    seen = by_cluster[:, by_cluster.any(axis=0)]
    tp, fp, fn, tn = seen
    parts = {
        "tpr": (tp, tp + fn),
        "fpr": (fp, fp + tn),
        "precision": (tp, tp + fp),
        "f1": f1_parts(seen),
        "preservation": (tn, fp + tn),
    }
    pooled = dict(zip(("tp", "fp", "fn", "tn"), seen.sum(axis=1).tolist(), strict=True))
    return {
        **{
            name: value(_ratio(*own), ends)
            for (name, own), ends in zip(parts.items(), ratio_intervals(list(parts.values()), SEED), strict=True)
        },
        "counts": pooled,
        "clusters": seen.shape[1],
    }


def _ratio(parts: np.ndarray, wholes: np.ndarray) -> float | None:
    return int(parts.sum()) / int(wholes.sum()) if wholes.any() else None


def value(found: float | None, interval: tuple[float, float] | None) -> Json:
    """A rate as JSON; undefined is null."""
    low, high = interval or (None, None)
    return {"value": found, "low": low, "high": high}


def listed(values: np.ndarray) -> list[float | None]:
    """Numbers as JSON; what is not a number is null."""
    return [None if np.isnan(each) else float(each) for each in values]
