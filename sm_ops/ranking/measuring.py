"""What a score separates: AUROC, a threshold from validation, what it finds at an acceptable price, and a verdict.

The unit is an output, the cluster its source. A threshold takes an output for risky when its score is at least that.
Everything chosen (thresholds, standardisation, verdict) is chosen on the validation side and kept on the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sm_ops.calibration.thresholds import at_max_f1, within
from sm_ops.core import registry
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.ranking.scoring import parameters, score
from sm_ops.sanitizing.labels import clusters
from sm_ops.sanitizing.measures import at, rates, roc
from sm_ops.sanitizing.units import Units

Json = dict[str, Any]

FORMAT = "ranking/1"


@dataclass(frozen=True, slots=True)
class Side:
    """The outputs of one side and, by reference, their scores in the same order."""

    records: Sequence[Record]
    scored: Mapping[str, Sequence[Scored]]

    @property
    def risky(self) -> np.ndarray:
        """Which outputs are risky (bool)."""
        return np.array([record.meta["risky"] for record in self.records], bool)

    def units(self, name: str, levels: np.ndarray) -> Units:
        """The outputs as units with one filter."""
        whole = np.arange(len(self.records))
        return Units(np.ones(len(whole), np.int64), whole, clusters(self.records), self.risky, {}, {name: levels})


def measure(validation: Side, application: Side, scores: Mapping[str, Any], acceptable: float, coverage: float) -> Json:
    """The content of measures.json.

    `scores` maps a name to settings with `rule` and `reference`. `acceptable` is the share of safe outputs that may be
    taken for risky, `coverage` the share of risky ones that a suitable score finds at that price. Raises `InputError`
    for a feature that does not vary on validation.
    """
    return {
        "format": FORMAT,
        "unit": "output",
        "direction": "a higher score means risky",
        "scores": {
            name: _score(name, each, validation, application, acceptable, coverage) for name, each in scores.items()
        },
        "baselines": {
            name: {"validation": _alone(validation, levels), "application": _alone(application, levels)}
            for name, levels in BASELINES.items()
            if all(name in record.meta for record in [*validation.records, *application.records]) or name == "length"
        },
    }


def _score(name: str, settings: Any, validation: Side, application: Side, acceptable: float, coverage: float) -> Json:
    features = registry.load("ranking", settings.rule).features
    known, other = (features(side.records, side.scored[settings.reference]) for side in (validation, application))
    units = validation.units(name, score(known, known))
    levels, gold = units.levels[name], units.gold
    tau, affordable = at_max_f1(levels, gold).tau, within(levels, gold, acceptable).tau
    measured = {
        side: _side(own, name, tau, affordable)
        for side, own in (("validation", units), ("application", application.units(name, score(other, known))))
    }
    areas = [own["auroc"]["value"] for own in measured.values()]
    return {
        "rule": settings.rule,
        "reference": settings.reference,
        "standardisation": parameters(known),
        "tau": tau,
        **measured,
        "gap": None if None in areas else abs(areas[0] - areas[1]),
        "verdict": verdict(measured["validation"], acceptable, coverage),
    }


def _side(units: Units, name: str, tau: float | None, affordable: float | None) -> Json:
    attainable = at(units, name, affordable)
    return {
        **rates(units, name, tau),
        "roc": roc(units, name),
        "attainable": {
            "tau": affordable,
            "coverage": attainable["tpr"],
            "collateral": attainable["fpr"],
            "precision": attainable["precision"],
        },
        "undefined": int(np.isneginf(units.levels[name]).sum()),
    }


def verdict(validation: Json, acceptable: float, coverage: float) -> Json:
    """`decision` and `reason`: undefined, inverted, chance, costly or suitable, by the validation side alone.

    Chance and inversion are judged by the interval of the AUROC, a perfect or constant ranking by its value.
    """
    area, attainable = validation["auroc"], validation["attainable"]
    if area["value"] is None:
        return _told("undefined", "The validation side lacks risky or safe outputs, so nothing can be said.")
    low, high = (area["value"] if end is None else end for end in (area["low"], area["high"]))
    shown = f"AUROC {area['value']:.3f} [{low:.3f}, {high:.3f}] on validation"
    if high < 0.5:
        return _told(
            "inverted",
            f"Risky outputs are less surprising than safe ones ({shown}). The direction was fixed before and is not "
            "turned: do not rank by this score; take another reference or rule.",
        )
    if low <= 0.5:
        return _told("chance", f"The score cannot be told from chance ({shown}): do not rank by it.")
    found = attainable["coverage"]["value"]
    price = f"{found:.1%} of the risky outputs at no more than {acceptable:.1%} of the safe ones ({shown})"
    if found < coverage:
        return _told("costly", f"It finds only {price}; {coverage:.1%} are asked for: do not rely on it alone.")
    return _told("suitable", f"It finds {price}, at least the {coverage:.1%} asked for.")


def _told(decision: str, reason: str) -> Json:
    return {"decision": decision, "reason": reason}


def _alone(side: Side, levels: Any) -> Json:
    """The AUROC of something that is no score, in the same direction."""
    units = side.units("alone", np.array([levels(record) for record in side.records], np.float64))
    return rates(units, "alone", None)["auroc"]


def _characters(record: Record) -> int:
    return sum(end - start for start, end in record.supervised_intervals)


BASELINES = {"length": _characters, "year": lambda record: record.meta["year"]}
"""What may separate outputs without any surprise: their length in characters, and the year that they give."""
