"""audit_prepare: what a defence leaves of the training records, as a masked training set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sm_ops.calibration.judge import judge
from sm_ops.calibration.sample import sample
from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.data.deduplicate import deduplicate
from sm_ops.masking.baselines import goldfish
from sm_ops.masking.conditions import surprise_at
from sm_ops.masking.outcome import mask_records
from sm_ops.masking.scrubbing import scrub
from sm_ops.masking.targets import target_tokens
from sm_ops.metrics import confusion
from sm_ops.scoring.backends.hf import HFReference, fixed_head
from sm_ops.scoring.tokenize import tokenize_all
from sm_ops.steps._base import base_location, base_tokenizer
from sm_ops.steps._splits import read_split
from sm_ops.training import masked, models

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers

Masks = list[np.ndarray]


def run(settings: Settings, context: Context) -> Numbers:
    """Leave out duplicates, scrub, mask; count what each did. Validation records are scrubbed alike."""
    defence = settings.defence
    torch.set_num_threads(settings.probe.threads)
    records, validation = (read_split(context.inputs[split]) for split in ("train", "validation"))
    _require(settings.classes, records)
    prepared: dict[str, Any] = {"records_before": len(records)}
    if defence.dedup:
        found = deduplicate(records, settings.deduplicate.threshold, settings.deduplicate.shingle)
        records = found.records
        prepared |= {"removed_exact": len(found.exact), "removed_near": len(found.near)}
    labelled = validation
    if defence.scrub:
        records, prepared["scrubbed"] = scrub(records)
        validation, _ = scrub(validation)
    tokenizer = base_tokenizer(settings, context)
    tokens = tokenize_all(records, tokenizer)
    targets = [_attacked(split, settings.classes) for split in (records, labelled)]
    masks, told = _masks(settings, context, tokenizer, targets[0], tokens, targets[1])
    prepared |= told
    masked.write(context.outputs["training"], masked.examples(records, tokens, masks))
    masked.write(context.outputs["validation"], masked.unmasked(validation, tokenize_all(validation, tokenizer)))
    fs.write_json(context.outputs["groups"], {record.id: record.group for record in records})
    prepared |= {"records": len(records), "tokens": sum(int(own.eligible.sum()) for own in tokens)}
    fs.write_json(context.outputs["prepared"], prepared)
    return {"records": len(records), "tokens": prepared["tokens"]}


def _require(classes: list[str], records: list[Record]) -> None:
    """Refuse a class without a mention before anything is trained."""
    found = sorted({span.label for record in records for span in record.spans})
    if missing := [name for name in classes if name not in found]:
        there = f"there are {', '.join(found)}" if found else "label them, or choose another tagger"
        hint = f"The training records have no labelled mention of {missing[0]}, which classes names; {there}."
        raise InputError("no-mention", hint)


def _attacked(records: list[Record], classes: list[str]) -> list[Record]:
    """The records with the spans of the attacked classes alone: the targets of a mask."""
    return [replace(each, spans=tuple(s for s in each.spans if not classes or s.label in classes)) for each in records]


def _masks(
    settings: Settings,
    context: Context,
    tokenizer: Any,
    records: list[Record],
    tokens: list[Tokens],
    labelled: list[Record],
) -> tuple[Masks, dict[str, Any]]:
    """The defence's masks, and what they cover; none for most defences."""
    how, masking = settings.defence.mask, settings.masking
    if how == "none":
        return [np.zeros(len(own), bool) for own in tokens], {}
    told: dict[str, Any] = {"masked_by": how}
    if how == "goldfish":
        masks = goldfish.mask(records, tokens, k=masking.goldfish, seed=0)
    else:
        masks, told = _surprise(settings, context, tokenizer, records, tokens, labelled)
    eligible = np.concatenate([own.eligible for own in tokens])
    targets = np.concatenate([target_tokens(record, own) for record, own in zip(records, tokens, strict=True)])
    counts = confusion(np.concatenate(masks)[eligible], targets[eligible])
    told |= {"tokens_masked": counts.tp + counts.fp, "target_coverage": counts.tpr, "collateral_rate": counts.fpr}
    return masks, told


def _surprise(
    settings: Settings,
    context: Context,
    tokenizer: Any,
    records: list[Record],
    tokens: list[Tokens],
    labelled: list[Record],
) -> tuple[Masks, dict[str, Any]]:
    """Masks by the base model's surprise at the threshold of validation; an audit measures an unsuitable rule too."""
    masking = settings.masking
    model = models.load(base_location(settings, context), settings.base.revision)
    model = model.to(models.pick_device(settings.probe.device))
    reference = HFReference(model, tokenizer, fixed_head(tokenizer), settings.probe.token_budget)
    own = sample(labelled, reference.score(labelled), tokenize_all(labelled, tokenizer), masking)
    point = surprise_at(masking.target)
    judgement = judge(own, {point: masking.target}, masking.acceptable_collateral)
    told = {"masked_by": point, "auroc": judgement["auroc"], "verdict": judgement["verdict"]}
    level = judgement["points"][point]["tau"]
    if level is None:
        return [np.zeros(len(each), bool) for each in tokens], told
    return mask_records(records, reference.score(records), tokens, masking.plain(), level).masks, told
