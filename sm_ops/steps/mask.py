"""mask: fix every condition's mask before training, write the masked training sets, count what is covered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.core import fs
from sm_ops.core.errors import StageError
from sm_ops.core.tokens import Scored
from sm_ops.masking.baselines import goldfish, oracle, random
from sm_ops.masking.conditions import ORACLE, UNMASKED, goldfish_of, random_at, surprise_at
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.labels import labels
from sm_ops.masking.procedure import mask_downstream, mask_reference
from sm_ops.masking.targets import target_tokens
from sm_ops.metrics import confusion
from sm_ops.scoring.tokenize import load_tokenizer
from sm_ops.steps._base import base_location
from sm_ops.steps._masking import Labelled, labelled, rule_at, scores_of
from sm_ops.steps._splits import read_canaries
from sm_ops.training import masked

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers
    from sm_ops.data.dataset import Canary

FORMAT = "masks/1"
Masks = list[np.ndarray]


def run(settings: Settings, context: Context) -> Numbers:
    """Masks are shared by all training seeds; a rule that validation found unsuitable stops the run here."""
    masking = settings.masking
    thresholds = _thresholds(masking, context.inputs["calibration"])
    data = labelled(context.inputs["train"], load_tokenizer(base_location(settings, context)))
    scored = scores_of(context.inputs["scores"], data.records)
    conditions = _masks(masking, thresholds, data, scored)
    for condition, masks in conditions.items():
        masked.write(
            context.outputs[condition],
            (
                masked.Example(record.id, tokens.ids, labels(tokens.ids, tokens.supervised, mask))
                for record, tokens, mask in zip(data.records, data.tokens, masks, strict=True)
            ),
        )
    canaries = read_canaries(context.inputs["canaries"])
    _write_masks(context.outputs["masks"], conditions, data, masking, thresholds)
    coverage = {name: _coverage(masks, data, canaries) for name, masks in conditions.items()}
    fs.write_json(context.outputs["coverage"], coverage)
    fs.write_json(context.outputs["strip"], _strip(scored, conditions, data))
    eligible = sum(int(tokens.eligible.sum()) for tokens in data.tokens)
    return {"conditions": len(conditions), "eligible_tokens": eligible}


def _thresholds(masking: Settings, path: Path) -> dict[str, float]:
    """The chosen reference's thresholds, or a `StageError` with the verdict in words."""
    chosen = fs.read_json(path)["references"][masking.reference]
    verdict = chosen["verdict"]
    if verdict["decision"] != "suitable":
        raise StageError(f"calibration-{verdict['decision']}", f"Reference {masking.reference}: {verdict['reason']}")
    return {name: point["tau"] for name, point in chosen["points"].items()}


def _masks(masking: Settings, thresholds: dict[str, float], data: Labelled, scored: list[Scored]) -> dict[str, Masks]:
    """Downstream masks by condition, in the order of the report."""
    surprise = {name: _surprise(masking, tau, data, scored) for name, tau in thresholds.items()}
    result = {
        UNMASKED: [np.zeros(len(tokens), bool) for tokens in data.tokens],
        ORACLE: oracle.mask(data.records, data.tokens),
        **surprise,
    }
    for target in masking.random:
        budget = sum(int(mask.sum()) for mask in surprise[surprise_at(target)])
        result[random_at(target)] = random.mask(data.records, data.tokens, budget=budget, seed=masking.seed)
    for k in masking.goldfish:
        result[goldfish_of(k)] = goldfish.mask(data.records, data.tokens, k=k, seed=masking.seed)
    return result


def _surprise(masking: Settings, tau: float, data: Labelled, scored: list[Scored]) -> Masks:
    corpus = Corpus.from_scored(scored)
    reference = corpus.split(mask_reference(corpus, rule_at(masking, tau)))
    return [
        mask_downstream(each.tokens, mask, downstream)
        for each, mask, downstream in zip(scored, reference, data.tokens, strict=True)
    ]


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


def _write_masks(
    path: Path, conditions: dict[str, Masks], data: Labelled, masking: Settings, thresholds: dict[str, float]
) -> None:
    """One row a record and condition: masked character intervals and one boolean a downstream token."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rule = {**masking.plain(), "thresholds": thresholds}
    rows: list[_Row] = [
        _Row(record.id, condition, *_intervals(tokens.starts[mask], tokens.ends[mask]), mask.tolist())
        for condition, masks in conditions.items()
        for record, tokens, mask in zip(data.records, data.tokens, masks, strict=True)
    ]
    names = ("id", "condition", "starts", "ends", "mask")
    table = pa.table({name: [getattr(row, name) for row in rows] for name in names})
    metadata = {
        "sm_ops_format": FORMAT,
        "rule": fs.canonical_json(rule),
        "rule_sha256": fs.sha256(fs.canonical_json(rule)),
    }
    pq.write_table(table.replace_schema_metadata(metadata), path)


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    condition: str
    starts: list[int]
    ends: list[int]
    mask: list[bool]


def _intervals(starts: np.ndarray, ends: np.ndarray) -> tuple[list[int], list[int]]:
    """Masked tokens as disjoint character intervals, touching ones joined."""
    merged: list[list[int]] = []
    for start, end in sorted(zip(starts.tolist(), ends.tolist(), strict=True)):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return [start for start, _ in merged], [end for _, end in merged]


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
        "surprise": [None if np.isnan(p) else round(-float(p), 3) for p in scored[index].logprobs],
        "target": target_tokens(record, tokens).tolist(),
        "masks": {
            name: mask_downstream(data.tokens[index], masks[index], tokens).tolist()
            for name, masks in conditions.items()
        },
    }
