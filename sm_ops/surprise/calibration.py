"""Choose thresholds on labelled records, and judge whether surprise masking is the right tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.calibration import categories, judge, protocol
from sm_ops.calibration.certainty import recall_interval
from sm_ops.calibration.sample import Sample
from sm_ops.core import fs
from sm_ops.core.config import Rule, validated
from sm_ops.core.defaults import ACCEPTABLE_COLLATERAL, TARGETS
from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.masking.combine import COMBINATIONS, jaccard
from sm_ops.masking.conditions import BY_CATEGORY, surprise_at
from sm_ops.masking.targets import target_tokens
from sm_ops.metrics import confusion
from sm_ops.scoring.scores import Source
from sm_ops.surprise.data import Data, Records
from sm_ops.surprise.scores import Scores

FORMAT = "calibration/1"
_NEEDED = {"rule", "reference", "tokenizer_hash", "chosen", "verdict", "points", "max_f1", "acceptable"}
MAX_F1, ACCEPTABLE = "maxF1", "acceptable"


def reference_of(source: Source) -> dict[str, str]:
    """What must be the same for scores to be comparable."""
    return {"name": source.reference, "revision": source.revision, "head": source.head}


def same_reference(wanted: dict[str, str], scores: Scores) -> None:
    """Refuse scores of another reference than the calibration's: its thresholds mean nothing to them."""
    found = reference_of(scores.source)
    if wanted != found:
        raise InputError(
            "other-reference",
            f"The scores come from {found['name'] or 'an unnamed reference'}, the calibration from "
            f"{wanted['name'] or 'an unnamed reference'}, or with another revision or prompt; score with the same one.",
        )


@dataclass(frozen=True)
class Calibration:
    """What validation records say of a rule: operating points, thresholds, verdict; as plain JSON in `report`."""

    report: dict[str, Any]

    @property
    def verdict(self) -> dict[str, str]:
        """`decision`, `advice` and `reason`."""
        return self.report["verdict"]

    @property
    def chosen(self) -> str | None:
        """The operating point of the largest coverage within the acceptable collateral rate, if there is one."""
        return self.report["chosen"]

    def level(self, point: str) -> float:
        """The threshold of an operating point, as a level of the rule."""
        points = self.points
        if point not in points:
            raise InputError("unknown-point", f"There is no operating point {point!r}; {did_you_mean(point, points)}.")
        if points[point]["tau"] is None:
            raise InputError("no-threshold", f"The operating point {point} has no threshold; choose another one.")
        return points[point]["tau"]

    @property
    def points(self) -> dict[str, dict[str, Any]]:
        """Every threshold there is, by name: target recalls, the largest F1, and the acceptable collateral rate."""
        points = {**self.report["points"], MAX_F1: self.report["max_f1"], ACCEPTABLE: self.report["acceptable"]}
        if "categories" in self.report:
            points[BY_CATEGORY] = self.report["categories"]["thresholds"]["pooled"]
        return points

    def save(self, path: str | Path) -> None:
        """Write it as JSON; it holds no text of the data."""
        fs.write_json(Path(path), self.report)

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read what `save` wrote."""
        report: Any = None
        with suppress(ValueError):  # not JSON, or not even text
            report = fs.read_json(fs.existing(path))
        found = report.get("sm_ops_format") if isinstance(report, dict) else None
        if found != FORMAT:
            hint = f"{Path(path).name} has format {found!r} instead of {FORMAT!r}; calibrate again."
            raise InputError("unknown-format", hint)
        if missing := sorted(_NEEDED - report.keys()):
            hint = f"{Path(path).name} lacks {', '.join(missing)}; calibrate again."
            raise InputError("bad-calibration", hint)
        return cls(report)


def calibrate(
    records: Records,
    scores: Scores,
    *,
    rule: Mapping[str, Any] | None = None,
    auto: bool = False,
    tokenizer: str | Path | None = None,
    targets: Sequence[float] = TARGETS,
    acceptable_collateral: float = ACCEPTABLE_COLLATERAL,
    confidence: float | None = None,
    by: str | None = None,
    other: Records | None = None,
    verify: tuple[Records, Scores] | None = None,
    application: tuple[Records, Scores] | None = None,
) -> Calibration:
    """Choose thresholds on labelled validation records and judge whether surprise masking is the right tool.

    `rule` holds settings that differ from the paper's rule for code; with `auto` the paper's two rules are compared
    at the acceptable collateral rate, on half of the labelled groups unless `verify` gives other records, and the
    threshold is verified on what did not choose it. `tokenizer` names the model that will be trained, if it is not
    the reference. `by` is a key of the records' meta whose values get thresholds of their own. `other` are the same
    records with the spans that another filter masks: thresholds are then tuned on what it leaves (spec section 8), and
    `report["other"]` tells what the two do together. `application` are labelled records of where the mask will be
    used: the report then tells the gap.
    """
    _check_rates(acceptable_collateral, confidence)
    for _, others in filter(None, (verify, application)):
        same_reference(reference_of(scores.source), others)
    data = Data.of(records, scores, tokenizer)
    if other is not None:
        data = data.beside(other)
    held_back = Data.of(*verify, tokenizer) if verify else None
    if auto and held_back is None:
        choosing, verifying = protocol.halves(data.records)
        data, held_back = data.part(choosing), data.part(verifying)
    rules = _rules(rule or {}, auto)
    samples = {kind: data.residual(each) for kind, each in rules.items()}
    targeted = {surprise_at(target): target for target in targets}
    judged = {
        kind: judge.judge(own, targeted, acceptable_collateral, confidence, every=False)
        for kind, own in samples.items()
    }
    kind = protocol.best(judged)
    chosen = _within(judged[kind], acceptable_collateral)
    report: dict[str, Any] = {
        "sm_ops_format": FORMAT,
        "rule": rules[kind],
        "reference": reference_of(scores.source),
        "tokenizer_hash": data.tokenizer_hash,
        "acceptable_collateral": acceptable_collateral,
        "confidence": confidence,
        "chosen": chosen,
        **judged[kind],
    }
    if auto:
        report["candidates"] = {
            kind: {"rule": rules[kind], "auroc": each["auroc"], "acceptable": each["acceptable"]}
            for kind, each in judged.items()
        }
    if by is not None:
        names = categories.names(data.records, by)
        if not any(names):
            raise InputError("no-category", f"No record has a word or a whole number under meta.{by}; check the key.")
        report["categories"] = {"key": by, "thresholds": judge.categories(samples[kind], names)}
    calibration = Calibration(report)
    if chosen is not None and other is not None:
        report["other"] = _together(data.sample(rules[kind]), data.other_tokens, calibration.level(chosen))
    if chosen is not None and held_back is not None:
        report["verification"] = _verify(calibration, held_back)
    if application is not None:
        there = Data.of(*application, tokenizer).sample(rules[kind])
        report["application"] = judge.elsewhere(report, there, acceptable_collateral)
    return calibration


def _check_rates(acceptable: float, confidence: float | None) -> None:
    if not 0 < acceptable <= 1:
        raise InputError("bad-rate", f"An acceptable collateral rate lies in (0, 1]; it is {acceptable}.")
    if confidence is not None and not 0 < confidence < 1:
        raise InputError("bad-confidence", f"A confidence lies between 0 and 1; it is {confidence}.")


def _rules(rule: Mapping[str, Any], auto: bool) -> dict[str, dict[str, Any]]:
    if not auto:
        return {"given": _rule(rule)}
    if rule:
        raise InputError("rule-and-auto", "auto chooses the rule; leave out the rule's settings, or auto.")
    return {kind: _rule(settings) for kind, settings in protocol.CANDIDATES.items()}


def _rule(settings: Mapping[str, Any]) -> dict[str, Any]:
    return validated(Rule, dict(settings), "rule").model_dump(mode="json")


def _within(report: dict[str, Any], acceptable: float) -> str | None:
    """The operating point of the largest coverage among those that cost no more than is acceptable."""
    points = {
        name: point["target_coverage"] or 0.0
        for name, point in report["points"].items()
        if point["reached"] and (point["collateral_rate"] or 0.0) <= acceptable
    }
    return max(points, key=points.__getitem__, default=None)


def _verify(calibration: Calibration, data: Data) -> dict[str, Any]:
    """The chosen point by the complete procedure on records that did not choose it."""
    name, acceptable = str(calibration.chosen), calibration.report["acceptable_collateral"]
    masks = data.masked(calibration.report["rule"], calibration.level(name)).masks
    eligible = np.concatenate([own.eligible for own in data.tokens])
    gold = np.concatenate([target_tokens(record, own) for record, own in zip(data.records, data.tokens, strict=True)])
    counts = confusion(np.concatenate(masks)[eligible], gold[eligible])
    units = data.sample(calibration.report["rule"]).units
    interval = recall_interval(counts.tpr, units)
    wanted = calibration.points[name]["target_coverage"]
    holds = bool(interval is not None and wanted <= interval[1] and counts.fpr is not None and counts.fpr <= acceptable)
    return {
        "point": name,
        "target_coverage": counts.tpr,
        "interval": interval,
        "collateral_rate": counts.fpr,
        "independent_units": units,
        "holds": holds,
    }


def _together(sample: Sample, other: np.ndarray, level: float) -> dict[str, Any]:
    """Another filter alone, and with the chosen point: coverage and collateral rate, and how far they agree."""
    own = sample.critical >= level
    masks = {"alone": other, **{name: both(own, other) for name, both in COMBINATIONS.items()}}
    counts = {name: confusion(mask, sample.gold) for name, mask in masks.items()}
    return {
        "jaccard": jaccard(own, other),
        **{name: {"target_coverage": each.tpr, "collateral_rate": each.fpr} for name, each in counts.items()},
    }
