"""Surprise masking beside another filter: combined masks, and whether they are worth more than their better half.

Thresholds and what is compared are chosen on validation; the comparison itself is made on the application side where
that is labelled (paper, F.1 and F.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sm_ops.calibration.thresholds import at_max_f1
from sm_ops.masking.combine import GRID, combine, jaccard, pair_counts, quantile_grid, select_jointly
from sm_ops.metrics import difference_interval
from sm_ops.sanitizing import measures
from sm_ops.sanitizing.units import Units

Json = dict[str, Any]
Sides = Mapping[str, Units]
"""Units by side: `validation`, and `application` where that is labelled."""
UNION, INTERSECTION, RESIDUAL = "union", "intersection", "residual"
JOINT = {"joint": UNION, "joint_intersection": INTERSECTION}


class Pair(NamedTuple):
    """Two filters by name, each with its own threshold by validation (None masks nothing)."""

    surprise: str
    other: str
    taus: tuple[float | None, float | None]


class Point(NamedTuple):
    """A way to combine the two masks at two thresholds."""

    how: str
    taus: tuple[float | None, float | None]

    def mask(self, units: Units, pair: Pair) -> np.ndarray:
        """The units that it masks (bool)."""
        one, other = (measures.mask(units, name, tau) for name, tau in zip(pair[:2], self.taus, strict=True))
        return combine(self.how)(one, other)


def combined(sides: Sides, pair: Pair, families: Mapping[str, str] | None = None) -> Json:
    """All that two filters do together.

    `union` and `intersection` are of their masks at their own thresholds; `residual` keeps the other filter's mask and
    adds what surprise masks at the threshold of the largest F1 on what that leaves; `joint` and `joint_intersection`
    take both thresholds from a grid, with `frontier`, its best pairs by validation. `curve` is coverage against
    collateral of the union as the surprise threshold falls. `best` names the combination and `half` the filter of the
    larger F1 on validation; `difference` says how much more F1 the first has, with a paired interval over clusters,
    and `better` whether all of that is above zero. `categories` has the F1 of both filters and of `best` by category,
    or by family.
    """
    validation, measured_on = sides["validation"], "application" if "application" in sides else "validation"
    points = {
        UNION: Point(UNION, pair.taus),
        INTERSECTION: Point(INTERSECTION, pair.taus),
        RESIDUAL: Point(UNION, (_on_residual(validation, pair), pair.taus[1])),
        **{name: _jointly(validation, pair, how) for name, how in JOINT.items()},
    }
    halves = {
        pair.surprise: Point(UNION, (pair.taus[0], None)),
        pair.other: Point(UNION, (None, pair.taus[1])),
    }
    found = {name: _on_sides(sides, pair, point) for name, point in points.items()}
    alone = {name: measures.masked_units(validation, point.mask(validation, pair)) for name, point in halves.items()}
    best = max(found, key=lambda name: found[name]["validation"]["f1"]["value"] or 0.0)
    half = max(alone, key=lambda name: alone[name]["f1"]["value"] or 0.0)
    units = sides[measured_on]
    difference = f1_difference(units, points[best].mask(units, pair), halves[half].mask(units, pair))
    for name, how in JOINT.items():
        found[name] |= _grid(sides, pair, how, found[name])
    return {
        "surprise": pair.surprise,
        "other": pair.other,
        "jaccard": {name: _jaccard(sides.get(name), pair) for name in ("validation", "application")},
        **found,
        "curve": {name: _curve(sides.get(name), pair) for name in ("validation", "application")},
        "best": best,
        "half": half,
        "measured_on": measured_on,
        "difference": difference,
        "better": (difference["low"] or 0.0) > 0,
        "reason": _reason(best, half, measured_on, difference),
        "categories": _categories(units, pair, [*halves.values(), points[best]], families),
    }


def f1_difference(units: Units, one: np.ndarray, other: np.ndarray) -> Json:
    """How much more F1 one mask has than another, with a 95 % interval by resampling clusters in pairs."""
    parts = [measures.f1_parts(measures.counts_by_cluster(units, masked)) for masked in (one, other)]
    if not all(wholes.any() for _, wholes in parts):
        return measures.value(None, None)
    first, second = (float(hits.sum() / wholes.sum()) for hits, wholes in parts)
    return measures.value(first - second, difference_interval(parts[0], parts[1], measures.SEED))


def _on_sides(sides: Sides, pair: Pair, point: Point) -> Json:
    measured = {name: measures.masked_units(units, point.mask(units, pair)) for name, units in sides.items()}
    return {"tau": list(point.taus), "application": None, **measured}


def _on_residual(units: Units, pair: Pair) -> float | None:
    """The surprise threshold of the largest F1 on the units that the other filter leaves (section 8)."""
    left = units.where(~measures.mask(units, pair.other, pair.taus[1]))
    return at_max_f1(left.levels[pair.surprise], left.gold, left.weight).tau


def _jointly(units: Units, pair: Pair, how: str) -> Point:
    surprise, other = units.levels[pair.surprise], units.levels[pair.other]
    found = select_jointly(surprise, other, units.gold, how, *_grids(units, pair), units.weight)
    chosen = [None if tau is None or np.isinf(tau) else tau for tau in (found.surprise, found.other)]
    return Point(how, (chosen[0], chosen[1]))


def _grids(units: Units, pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """24 thresholds a filter: 23 at even steps of its coverage, and infinity, which masks nothing (choice S-3)."""
    targets = units.weight[units.gold]
    levels = (np.repeat(units.levels[name][units.gold], targets) for name in pair[:2])
    one, other = (np.append(quantile_grid(own, GRID - 1), np.inf) for own in levels)
    return one, other


def _grid(sides: Sides, pair: Pair, how: str, found: Json) -> Json:
    """How many pairs there were, the F1 of the chosen one on both sides, and the best pairs at every price."""
    grids = _grids(sides["validation"], pair)
    counts = {
        name: pair_counts(units.levels[pair.surprise], units.levels[pair.other], units.gold, how, *grids, units.weight)
        for name, units in sides.items()
    }
    tp, fp, *_ = counts["validation"]
    kept = _undominated(tp.ravel(), fp.ravel())
    frontier = {name: _rates(own[0].ravel()[kept], own[1].ravel()[kept], *own[2:]) for name, own in counts.items()}
    return {
        "pairs": tp.size,
        "validation_f1": found["validation"]["f1"]["value"],
        "application_f1": found["application"] and found["application"]["f1"]["value"],
        "frontier": {"application": None, **frontier},
    }


def _undominated(tp: np.ndarray, fp: np.ndarray) -> np.ndarray:
    """The numbers of the pairs that no cheaper one equals, by rising price."""
    order = np.lexsort((-tp, fp))
    most = np.maximum.accumulate(np.append(0, tp[order]))
    return order[tp[order] > most[:-1]]


def _rates(tp: np.ndarray, fp: np.ndarray, targets: int, total: int) -> Json:
    return {
        "fpr": measures.listed(fp / (total - targets or np.nan)),
        "tpr": measures.listed(tp / (targets or np.nan)),
        "precision": measures.listed(tp / np.where(tp + fp > 0, tp + fp, np.nan)),
    }


def _jaccard(units: Units | None, pair: Pair) -> float | None:
    if units is None:
        return None
    one, other = (measures.mask(units, name, tau) for name, tau in zip(pair[:2], pair.taus, strict=True))
    return jaccard(one, other, units.weight)


def _curve(units: Units | None, pair: Pair) -> Json | None:
    if units is None:
        return None
    either = np.where(measures.mask(units, pair.other, pair.taus[1]), np.inf, units.levels[pair.surprise])
    return measures.roc(replace(units, levels={UNION: either}), UNION)


def _categories(units: Units, pair: Pair, points: list[Point], families: Mapping[str, str] | None) -> list[Json]:
    columns = ("surprise", "other", "combined")
    levels = {name: point.mask(units, pair).astype(np.float64) for name, point in zip(columns, points, strict=True)}
    masked = replace(units, levels=levels)
    rows = [
        measures.by_family(masked, name, 1.0, families) if families else measures.by_category(masked, name, 1.0)
        for name in columns
    ]
    return [
        {"category": own[0]["category"], **{name: row["f1"] for name, row in zip(columns, own, strict=True)}}
        for own in zip(*rows, strict=True)
    ]


def _reason(best: str, half: str, measured_on: str, difference: Json) -> str:
    if difference["value"] is None:
        return f"There are no labelled targets on the {measured_on} side to compare on."
    told = {"joint": "the joint choice of both thresholds", "joint_intersection": "the intersection, chosen jointly"}
    name, gain = told.get(best, f"the {best}"), difference["value"]
    interval = "" if difference["low"] is None else f" ({difference['low']:+.3f} to {difference['high']:+.3f})"
    where = "on the application side" if measured_on == "application" else "on validation itself, which also chose it,"
    if (difference["low"] or 0.0) > 0:
        return f"Validation prefers {name}: {where} its F1 is {gain:+.3f}{interval} against that of {half} alone."
    return (
        f"No combination is better than its better half: {name}, the best on validation, differs {where} by {gain:+.3f}"
        f"{interval} in F1 from {half} alone."
    )
