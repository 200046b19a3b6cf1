"""mask: fix every condition's mask before training, write the masked training sets, count what is covered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.calibration import categories, judge
from sm_ops.calibration.sample import sample
from sm_ops.core import fs
from sm_ops.core.errors import StageError
from sm_ops.core.tokens import Scored
from sm_ops.masking import mask_files
from sm_ops.masking.baselines import masks, oracle
from sm_ops.masking.conditions import BY_CATEGORY, ORACLE, UNMASKED, baselines
from sm_ops.masking.explain import Reason
from sm_ops.masking.outcome import mask_records
from sm_ops.masking.procedure import mask_downstream
from sm_ops.masking.rules import settings_at
from sm_ops.masking.targets import target_tokens
from sm_ops.metrics import confusion
from sm_ops.steps._base import base_tokenizer
from sm_ops.steps._detections import Detected, mask_detected
from sm_ops.steps._masking import Labelled, labelled, scores_of
from sm_ops.steps._splits import read_canaries
from sm_ops.training import masked

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers
    from sm_ops.data.dataset import Canary

Masks = list[np.ndarray]


@dataclass(frozen=True, slots=True)
class _Condition:
    """Downstream masks (one boolean array a record) and, where windows decided, why, and what they guarantee."""

    masks: Masks
    reasons: list[list[Reason]] | None = None
    bound: dict[str, Any] | None = None


def run(settings: Settings, context: Context) -> Numbers:
    """Masks are shared by all training seeds; a rule that validation found unsuitable stops the run here."""
    masking = settings.masking
    calibration = _calibration(masking, context.inputs["thresholds"])
    data = labelled(context.inputs["train"], base_tokenizer(settings, context))
    scored = scores_of(context.inputs["scores"], data.records)
    levels = _levels(masking, calibration, data)
    found = _detected(masking, data, settings, context)
    conditions = _conditions(masking, levels, data, scored)
    conditions |= {name: _Condition(each.masks) for name, each in found.items()}
    for name, condition in conditions.items():
        masked.write(context.outputs[name], masked.examples(data.records, data.tokens, condition.masks))
    thresholds = {name: settings_at(masking.select, point["tau"]) for name, point in calibration["points"].items()}
    thresholds |= {name: {"tau": each.about["tau"]} for name, each in found.items()}
    _write_masks(context.outputs["masks"], conditions, data, {**masking.plain(), "thresholds": thresholds})
    by_name = {name: condition.masks for name, condition in conditions.items()}
    canaries = read_canaries(context.inputs["canaries"])
    fs.write_json(context.outputs["coverage"], {name: _coverage(own, data, canaries) for name, own in by_name.items()})
    application = sample(data.records, scored, data.tokens, masking)
    fs.write_json(
        context.outputs["application"], judge.elsewhere(calibration, application, masking.acceptable_collateral)
    )
    bounds = {name: condition.bound for name, condition in conditions.items() if condition.bound is not None}
    fs.write_json(context.outputs["bound"], bounds)
    fs.write_json(context.outputs["detectors"], {name: each.about for name, each in found.items()})
    fs.write_json(context.outputs["strip"], _strip(scored, by_name, data))
    eligible = sum(int(tokens.eligible.sum()) for tokens in data.tokens)
    return {"conditions": len(conditions), "eligible_tokens": eligible}


def _calibration(masking: Settings, path: Path) -> dict[str, Any]:
    """What validation says of the chosen reference, or a `StageError` with the verdict in words."""
    chosen = fs.read_json(path)["references"][masking.reference]
    verdict = chosen["verdict"]
    if verdict["decision"] != "suitable":
        hint = f"Reference {masking.reference}: {verdict['advice']}. {verdict['reason']}{_decided_by(verdict, masking)}"
        raise StageError(f"calibration-{verdict['decision']}", hint)
    return chosen


def _decided_by(verdict: dict[str, Any], masking: Settings) -> str:
    """The setting that a verdict depends on, beside the data and the rule."""
    if verdict["decision"] == "costly":
        return f" The acceptable rate is masking.acceptable_collateral, now {masking.acceptable_collateral:g}."
    return " The target recalls are masking.targets." if verdict["decision"] == "unreachable" else ""


def _levels(masking: Settings, calibration: dict[str, Any], data: Labelled) -> dict[str, Any]:
    """The threshold of each operating point; by category, one for each record (OP-25)."""
    levels: dict[str, Any] = {name: point["tau"] for name, point in calibration["points"].items()}
    if masking.by is not None:
        levels[BY_CATEGORY] = categories.levels(calibration["categories"], data.records, masking.by)
    return levels


def _conditions(
    masking: Settings, levels: dict[str, Any], data: Labelled, scored: list[Scored]
) -> dict[str, _Condition]:
    """Every condition of rules and baselines, in the order of the report."""
    outcomes = {
        name: mask_records(data.records, scored, data.tokens, masking.plain(), level) for name, level in levels.items()
    }
    surprise = {name: _Condition(each.masks, each.reasons, each.bound) for name, each in outcomes.items()}
    points = {name: condition.masks for name, condition in surprise.items()}
    others = {
        condition: _Condition(masks(*each, data.records, data.tokens, seed=masking.seed, surprise=points))
        for condition, each in baselines(masking).items()
    }
    return {
        UNMASKED: _Condition([np.zeros(len(tokens), bool) for tokens in data.tokens]),
        ORACLE: _Condition(oracle.mask(data.records, data.tokens)),
        **surprise,
        **others,
    }


def _detected(masking: Settings, data: Labelled, settings: Settings, context: Context) -> dict[str, Detected]:
    """Detectors are given the validation records besides, as some have to choose a threshold."""
    if "calibration" not in context.inputs:
        return {}
    validation = labelled(context.inputs["calibration"], base_tokenizer(settings, context))
    return mask_detected(masking, validation, data, context)


def _write_masks(path: Path, conditions: dict[str, _Condition], data: Labelled, rule: dict[str, Any]) -> None:
    ids = [record.id for record in data.records]
    rows = [
        row
        for name, condition in conditions.items()
        for row in mask_files.rows(name, ids, data.tokens, condition.masks, condition.reasons)
    ]
    mask_files.write(path, rows, rule)


def _coverage(masks: Masks, data: Labelled, canaries: list[Canary]) -> dict[str, Any]:
    """Budget, target coverage and collateral rate (OP-21), and how each canary's occurrences are masked."""
    eligible = np.concatenate([tokens.eligible for tokens in data.tokens])
    counts = confusion(np.concatenate(masks)[eligible], np.concatenate(data.targets)[eligible])
    occurrences = _occurrences(masks, data, canaries)
    exposed = sum(each["none"] > 0 for each in occurrences.values())
    return {
        "budget_tokens": counts.tp + counts.fp,
        "eligible_tokens": int(eligible.sum()),
        "target_tokens": counts.tp + counts.fn,
        "target_coverage": counts.tpr,
        "collateral_rate": counts.fpr,
        "canaries_exposed": exposed,
        "canaries": occurrences,
    }


def _occurrences(masks: Masks, data: Labelled, canaries: list[Canary]) -> dict[str, dict[str, int]]:
    """By canary: how many of its occurrences have all, some or none of their tokens masked."""
    found = {(canary.group, canary.kind, canary.value.reveal()): canary.id for canary in canaries}
    result = {canary.id: {"fully": 0, "partly": 0, "none": 0} for canary in canaries}
    for record, tokens, mask in zip(data.records, data.tokens, masks, strict=True):
        content = record.content
        for start, end, label in record.content_spans:
            canary = found.get((record.group, label, content[start:end]))
            inside = tokens.eligible & (tokens.starts < end) & (tokens.ends > start)
            if canary is None or not inside.any():
                continue
            how = "fully" if mask[inside].all() else "partly" if mask[inside].any() else "none"
            result[canary][how] += 1
    return result


def _strip(scored: list[Scored], conditions: dict[str, Masks], data: Labelled) -> dict[str, Any]:
    """The first record with a target as shapes without text: where each reference token stands and its surprise.

    `line`, `column`, `width` place a token; `surprise` is in nats (null where missing).
    """
    index = next((i for i, targets in enumerate(data.targets) if targets.any()), 0)
    record, tokens = data.records[index], scored[index].tokens
    content = record.content
    line_starts = [content.rfind("\n", 0, start) + 1 for start in tokens.starts.tolist()]
    return {
        "line": [content.count("\n", 0, start) for start in tokens.starts.tolist()],
        "column": (tokens.starts - np.array(line_starts)).tolist(),
        "width": (tokens.ends - tokens.starts).tolist(),
        "surprise": [None if np.isnan(s) else round(float(s), 3) for s in scored[index].surprise],
        "target": target_tokens(record, tokens).tolist(),
        "masks": {
            name: mask_downstream(data.tokens[index], masks[index], tokens).tolist()
            for name, masks in conditions.items()
        },
    }
