"""Thresholds carried over: to other credentials and files (paper, table 12), and against those of a category oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sm_ops.calibration.thresholds import at_max_f1
from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.data.regimes import REGIMES, Regime
from sm_ops.sanitizing import measures
from sm_ops.sanitizing.combinations import Sides, f1_difference
from sm_ops.sanitizing.sides import Side
from sm_ops.sanitizing.units import Units

Json = dict[str, Any]
ORACLE = "needs an oracle: it takes the true category of every record, which no one has where data is cleaned"


def regimes(names: Sequence[str]) -> list[Regime]:
    """The regimes of some names; `InputError` for an unknown one."""
    for name in names:
        if name not in REGIMES:
            raise InputError("unknown-regime", f"There is no regime {name!r}; {did_you_mean(name, REGIMES)}.")
    return [REGIMES[name] for name in names]


class Views:
    """The units of both sides as a regime's two parts see them; None where a part has no record."""

    def __init__(self, validation: Side, application: Side | None, kind: str, regime: Regime) -> None:
        self.regime = regime
        self.native = _part(validation, kind, regime, outside=True)
        self.validation = _part(validation, kind, regime, outside=False)
        self.id = application and _part(application, kind, regime, outside=False)
        self.ood = application and _part(application, kind, regime, outside=True)


def carried(views: Views, name: str) -> Json:
    """A row of table 12 for one filter: a threshold of the largest F1 on a regime's validation, and where it goes.

    `validation`, `id` and `ood` (application side, in and out of distribution) are what it does there, null without
    records; all is null where the regime's validation has no target. `native` chooses on the validation records of the
    outside instead; `loss` is how much F1 the carried threshold is short of it out of distribution.
    """
    row = {key: own for key, own in asdict(views.regime).items() if key != "name"}
    nothing = dict.fromkeys(("tau", "validation", "id", "ood", "native", "loss"))
    found: Json = {"regime": views.regime.name, **row, **nothing}
    if views.validation is None or not views.validation.gold.any():
        return found
    found["tau"] = tau = _best(views.validation, name)
    for side, units in (("validation", views.validation), ("id", views.id), ("ood", views.ood)):
        found[side] = units and measures.rates(units, name, tau)
    if views.ood is not None and views.native is not None and views.native.gold.any():
        native = _best(views.native, name)
        masks = [measures.mask(views.ood, name, own) for own in (native, tau)]
        found["native"] = {"tau": native, "ood": measures.masked_units(views.ood, masks[0])}
        found["loss"] = f1_difference(views.ood, masks[0], masks[1])
    return found


def oracle(sides: Sides, name: str) -> Json | None:
    """One pooled threshold against one for each gold category; None for fewer than two categories.

    `by_category` chooses a category's threshold on its units among all other content (OP-25), `by_context` on the
    records of the category alone, as each of CredData's contexts has one (choice S-4). A record's category is the one
    that most of its target units belong to, the first by name of equals; a record without targets, or of a category
    that validation lacks, takes the pooled threshold. `gain` is how much more F1 than the pooled one has.
    """
    validation = sides["validation"]
    if len(validation.members) < 2:
        return None
    pooled, own = _best(validation, name), _category(validation)
    policies = {
        "by_category": {each: _best(validation.of_category([each]), name) for each in sorted(validation.members)},
        "by_context": {
            each: _best(validation.where(own[validation.record] == each), name) for each in sorted({*own} - {""})
        },
    }
    last = "application" if "application" in sides else "validation"
    alone = {side: measures.mask(units, name, pooled) for side, units in sides.items()}
    found: Json = {"label": ORACLE, "pooled": _told(sides, alone) | {"tau": pooled}}
    for policy, taus in policies.items():
        masks = {side: units.levels[name] >= _levels(units, taus, pooled) for side, units in sides.items()}
        gain = f1_difference(sides[last], masks[last], alone[last])
        found[policy] = _told(sides, masks) | {"tau": taus, "gain": gain}
    return found


def _told(sides: Sides, masks: Mapping[str, np.ndarray]) -> Json:
    return {"application": None, **{side: measures.masked_units(sides[side], masked) for side, masked in masks.items()}}


def _part(side: Side, kind: str, regime: Regime, outside: bool) -> Units | None:
    seen = [regime.view(record, outside) for record in side.records]
    kept = [number for number, record in enumerate(seen) if record is not None]
    if not kept:
        return None
    profiles = {name: [own[number] for number in kept] for name, own in side.profiles.items()}
    tokenized = side.tokenized and [side.tokenized[number] for number in kept]
    return Side([record for record in seen if record is not None], profiles, tokenized).of_kind(kind)


def _best(units: Units, name: str) -> float | None:
    return at_max_f1(units.levels[name], units.gold, units.weight).tau


def _category(units: Units) -> np.ndarray:
    """Each record's category by most target units; empty without one."""
    size = int(units.record.max(initial=-1)) + 1
    names = sorted(units.members)
    held = [np.bincount(units.record[units.members[name]], units.weight[units.members[name]], size) for name in names]
    return np.array(["", *names], object)[np.argmax([np.full(size, 0.5), *held], axis=0)]


def _levels(units: Units, taus: Mapping[str, float | None], pooled: float | None) -> np.ndarray:
    """Each unit's threshold: of its record's category; infinity masks nothing."""
    found = [taus.get(category, pooled) for category in _category(units)]
    return np.array([np.inf if tau is None else tau for tau in found])[units.record]
