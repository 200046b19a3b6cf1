"""Measures of several folds as one: means, standard deviations, and on how many folds each of them rests.

Folds share records, so they are no independent repetitions: the standard deviation (sample, n - 1) describes them and
is no error of the mean (paper, table 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

from sm_ops.sanitizing.measures import RATES

Json = dict[str, Any]
SIDES = ("validation", "application")
COMBINATIONS = ("union", "intersection", "residual", "joint", "joint_intersection")
POLICIES = ("pooled", "by_category", "by_context")


def fold(measures: Sequence[Json]) -> Json:
    """The documents of `measuring.measure` of several folds, together.

    Every number is `{mean, sd, folds}`: over the folds where it is defined, null where there are too few. A category's
    `supported` counts the folds whose application side (validation, where that is unlabelled) holds it; `anchors` are
    the labelled strings of each fold by label, where the corpus tells them.
    """
    return {
        "folds": len(measures),
        "filters": {name: _filter([each["filters"][name] for each in measures]) for name in measures[0]["filters"]},
        "combinations": [
            _combination([each["combinations"][number] for each in measures])
            for number in range(len(measures[0]["combinations"]))
        ],
        "oracle": {
            name: _policies([own for each in measures if (own := each["transfer"]["oracle"].get(name))])
            for name in measures[0]["transfer"]["oracle"]
        },
    }


def summary(values: Iterable[float | None]) -> Json:
    """Mean and sample standard deviation of the values that are defined, and their number."""
    own = [value for value in values if value is not None]
    return {"mean": fmean(own) if own else None, "sd": stdev(own) if len(own) > 1 else None, "folds": len(own)}


def _filter(found: Sequence[Json]) -> Json:
    labelled = all(own["application"] for own in found)
    last = "application" if labelled else "validation"
    return {
        "validation": _rates([own["validation"] for own in found]),
        "application": _rates([own["application"] for own in found]) if labelled else None,
        "categories": _categories([own[last]["categories"] for own in found]),
        "families": _categories([own[last]["families"] for own in found]) if found[0][last]["families"] else None,
    }


def _rates(sides: Sequence[Json]) -> Json:
    return {rate: summary(own[rate]["value"] for own in sides) for rate in RATES}


def _categories(folds: Sequence[Sequence[Json]]) -> list[Json]:
    rows = [{row["category"]: row for row in each if row["target_units"]} for each in folds]
    return [
        {
            "category": name,
            "supported": sum(name in own for own in rows),
            "folds": len(folds),
            "anchors": [own[name].get("anchors") if name in own else None for own in rows],
            "f1": summary(own[name]["f1"]["value"] for own in rows if name in own),
        }
        for name in sorted({name for own in rows for name in own})
    ]


def _combination(found: Sequence[Json]) -> Json:
    names = {key: found[0][key] for key in ("surprise", "other")}
    return {**names, **{how: _f1([own[how] for own in found]) for how in COMBINATIONS}}


def _policies(found: Sequence[Json]) -> Json | None:
    return {policy: _f1([own[policy] for own in found]) for policy in POLICIES} if found else None


def _f1(found: Sequence[Json]) -> Json:
    return {f"{side}_f1": summary(own[side]["f1"]["value"] if own[side] else None for own in found) for side in SIDES}
