"""All that is measured of filters on a labelled corpus: thresholds by validation, then both sides, in one document.

`measure` gives the `measures.json` of a sanitization. A threshold is chosen on the validation side alone: of the
largest F1 on the plan's units, or the one that a filter brings (`Filter.at`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sm_ops.calibration.thresholds import at_max_f1, at_recall, at_threshold, within
from sm_ops.core.errors import InputError
from sm_ops.sanitizing import measures
from sm_ops.sanitizing.choosing import choice, verdict
from sm_ops.sanitizing.combinations import Pair, combined
from sm_ops.sanitizing.frozen import choose
from sm_ops.sanitizing.levels import Filter
from sm_ops.sanitizing.plan import Plan
from sm_ops.sanitizing.sides import Side
from sm_ops.sanitizing.transfer import Views, carried, oracle, regimes
from sm_ops.sanitizing.units import Units

Json = dict[str, Any]
FORMAT = "sanitizing/1"


def measure(validation: Side, application: Side | None, filters: Sequence[Filter], plan: Plan) -> Json:
    """Judge every filter and combination on validation, and on the application side where that is labelled.

    Raises `InputError` for a regime or a filter to redact with that there is not, for a category without a family, for
    thresholds on tokens that are unknown, and for a key of the records' meta that none has.
    """
    sides = {"validation": validation} | ({"application": application} if application else {})
    if plan.by and not any(any(side.values(plan.by)) for side in sides.values()):
        raise InputError("no-value", f"by: no record has a word or a whole number under meta.{plan.by}; check the key.")
    units = {name: own.units(plan.unit) for name, own in sides.items()}
    found: dict[str, Json] = {}
    for one in filters:
        at = thresholds(units["validation"][plan.unit], one, plan)
        measured = {name: _measured(own, units[name], one.name, at, plan) for name, own in sides.items()}
        found[one.name] = {
            "kind": one.kind,
            "tau": at.tau,
            "chosen": at.chosen,
            "folds": at.folds,
            "validation": measured["validation"],
            "application": measured.get("application"),
            "gap": _gap(list(measured.values())),
        }
    verdicts = {name: verdict(own, plan) for name, own in found.items()}
    chosen_on = {name: own[plan.unit] for name, own in units.items()}
    taken = choice(found, verdicts, plan)
    taus = {name: own["tau"] for name, own in found.items()}
    return {
        "format": FORMAT,
        "unit": plan.unit,
        "filters": found,
        "combinations": [
            combined(chosen_on, Pair(one, other, (taus[one], taus[other])), plan.families)
            for one, other in plan.combinations
        ],
        "transfer": _transfer(sides, chosen_on, [one.name for one in filters if one.at is None], plan),
        "choice": {**taken, **_chosen(chosen_on, taken["filter"], taken["tau"])},
        "verdicts": verdicts,
    }


class Thresholds(NamedTuple):
    """A filter's thresholds by validation, None where none serves.

    `tau` is `chosen` by the largest F1 (`max_f1`), by that over folds which `folds` shows (`folds`), or the filter's
    `own`. `operating` is the same where it attains the plan's coverage at the acceptable rate, else the largest that
    attains the coverage (choice S-1).
    """

    tau: float | None
    chosen: str
    operating: float | None
    folds: Json | None = None


def thresholds(units: Units, one: Filter, plan: Plan) -> Thresholds:
    """Choose a filter's thresholds on validation units."""
    levels, folds = (units.levels[one.name], units.gold), None
    if one.at is not None:
        tau, chosen = one.at, "own"
    elif plan.threshold_folds:
        folds = choose(units, one.name, plan.threshold_folds)
        tau, chosen = folds["tau"], "folds"
    else:
        tau, chosen = at_max_f1(*levels, units.weight).tau, "max_f1"
    point = None if tau is None else at_threshold(*levels, tau, units.weight)
    if point and (point.recall or 0.0) >= plan.coverage and (point.collateral or 0.0) <= plan.acceptable_collateral:
        return Thresholds(tau, chosen, tau, folds)
    return Thresholds(tau, chosen, at_recall(*levels, plan.coverage, units.weight).tau, folds)


def _measured(side: Side, units: Mapping[str, Units], name: str, at: Thresholds, plan: Plan) -> Json:
    own, anchors = units[plan.unit], side.anchors()
    attainable = within(own.levels[name], own.gold, plan.acceptable_collateral, own.weight).tau
    return {
        **measures.rates(own, name, at.tau),
        "roc": measures.roc(own, name),
        "attainable": _point(own, name, attainable),
        "operating": _point(own, name, at.operating),
        "categories": [
            {**row, "anchors": anchors.get(row["category"])} for row in measures.by_category(own, name, at.tau)
        ],
        "families": measures.by_family(own, name, at.tau, plan.families) if plan.families else None,
        "units": {"tokens": None} | {kind: measures.rates(each, name, at.tau) for kind, each in units.items()},
        **_by_value(side, own, name, at.tau, plan.by),
    }


def _point(units: Units, name: str, tau: float | None) -> Json | None:
    if tau is None:
        return None
    found = measures.at(units, name, tau)
    return {
        "tau": tau,
        "coverage": found["tpr"],
        "collateral": found["fpr"],
        "precision": found["precision"],
        "f1": found["f1"],
    }


def _by_value(side: Side, units: Units, name: str, tau: float | None, key: str | None) -> Json:
    """Rates by what the records' meta holds under a key, and their unweighted means, null with an undefined rate."""
    values = side.values(key) if key else np.empty(0, object)
    found = {
        value: measures.rates(units.where(values[units.record] == value), name, tau)
        for value in sorted(set(values) - {""})
    }
    means = {rate: [own[rate]["value"] for own in found.values()] for rate in measures.RATES}
    mean = {rate: None if None in own else float(np.mean(own)) for rate, own in means.items() if own}
    return {"by": found, "by_mean": mean or None}


def _gap(sides: Sequence[Json]) -> float | None:
    """How much better the filter separates on validation than where it is applied (difference of AUROC)."""
    areas = [own["auroc"]["value"] for own in sides]
    return None if len(areas) < 2 or None in areas else areas[0] - areas[1]


def _transfer(sides: Mapping[str, Side], units: Mapping[str, Units], names: Sequence[str], plan: Plan) -> Json:
    """How thresholds of the filters that have to choose one carry over to other parts, and what an oracle would add."""
    views = [
        Views(sides["validation"], sides.get("application"), plan.unit, regime) for regime in regimes(plan.regimes)
    ]
    return {
        "regimes": {name: [carried(own, name) for own in views] for name in names if views},
        "oracle": {name: oracle(units, name) for name in names},
    }


def _chosen(units: Mapping[str, Units], name: str | None, tau: float | None) -> Json:
    """What the filter that redacts does at its threshold, on both sides and by category."""
    sides = {} if name is None else units
    rates: Json = {side: measures.at(own, str(name), tau) for side, own in sides.items()}
    categories = {side: measures.by_category(own, str(name), tau) for side, own in sides.items()}
    nothing = {"validation": None, "application": None}
    return {**nothing, **rates, "categories": {**nothing, **categories}}
