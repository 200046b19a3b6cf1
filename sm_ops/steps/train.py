"""train: one condition, one seed: further from the base, from scratch, or LoRA, on the condition's masked set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sm_ops.core.errors import InputError
from sm_ops.core.seeds import derive
from sm_ops.scoring.tokenize import separator_id
from sm_ops.steps._base import base_location, base_tokenizer
from sm_ops.training import interventions, lora, masked, mixture, models, packing, rounds, schedule, tiny
from sm_ops.training.token_file import TokenFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers
    from sm_ops.training.masked import Example


def run(settings: Settings, context: Context) -> Numbers:
    """Train and save the model (or the adapter). The seed draws the order of the data and all that is random."""
    train, base = settings.train, settings.base
    where = base_location(settings, context)
    tokenizer = base_tokenizer(settings, context)
    separator = separator_id(tokenizer)
    seed = derive(settings.seed, "train")
    torch.manual_seed(seed)
    numbers: Numbers = {}
    if train.method == "scratch":
        positions = base.positions or train.context
        model = tiny.new_model(base, len(tokenizer), positions, separator, seed % 2**32)
    else:
        dtype = train.dtype if train.method == "lora" else "float32"  # AdamW's small steps vanish in bf16 weights
        model = models.load(where, base.revision, dtype)
    if train.method == "lora":
        model = lora.wrap(model, train.lora)
        numbers |= {f"lora_{name}": count for name, count in lora.coverage(model).items()}
    rows, steps, counts = _rows(settings, context, separator, seed % 2**32)
    numbers |= counts
    numbers |= rounds.fit(
        train.rounds,
        model,
        rows,
        separator,
        train,
        seed,
        context.scratch,
        context.progress,
        train.intervention,
        steps,
        history_file=context.outputs["history"],
    )
    models.save(model, context.outputs["model"])
    return numbers


def _rows(
    settings: Settings, context: Context, separator: int, seed: int
) -> tuple[Sequence[packing.Row], int, Numbers]:
    """The rows under the intervention, the optimiser steps of a round, and what became of the records.

    Dropped records shorten no schedule: there are as many steps as with all records (paper E.1).
    """
    train, found = settings.train, masked.read(context.inputs["training"])
    examples = interventions.prepare(found, train.intervention)
    fitting, cut = examples, 0
    more: Numbers = {}
    rows: Sequence[packing.Row] = []
    if train.method == "lora":
        fitting = packing.within(examples, train.context, train.truncated)
        rows = packing.rows(fitting, train.context)
        full = len(packing.within(found, train.context, "drop"))
        cut = packing.cut(fitting, train.context)
    elif examples and "mixture" in settings:
        rows, more = _mixture(settings, context, examples, separator, seed)
        full = len(rows)
    elif examples:
        rows = packing.pack(examples, separator, train.context, seed)
        full = len(packing.pack(found, separator, train.context, seed))
    learned = packing.learned_tokens(rows)
    if not learned:
        raise InputError(
            "nothing-to-learn",
            f"No token of the {len(found)} records is left to learn: all are masked, unsupervised or cut off; "
            "mask less, or check the roles of the chats.",
        )
    steps = schedule.steps_of(full, train)
    batch = train.batch_size * train.accumulation
    counts: Numbers = {
        "intervention": train.intervention,
        "records": len(fitting),
        "records_dropped": len(found) - len(examples),
        "records_cut": cut,
        "records_cut_empty": len(examples) - len(fitting),
        "records_without_loss": packing.without_loss(example.labels for example in fitting),
        "rows": len(rows),
        "rows_without_loss": packing.without_loss(row["labels"] for row in rows),
        "learned_tokens": learned,
        "effective_passes": train.rounds * interventions.effective_passes(steps, batch, len(rows)),
    }
    return rows, steps, counts | more


def _mixture(
    settings: Settings, context: Context, examples: list[Example], separator: int, seed: int
) -> tuple[Sequence[packing.Row], Numbers]:
    """Rows of the mixture, or where the base model has learnt that, of its tokens of the domain alone."""
    wanted, width = settings.mixture.domain_tokens, settings.train.context
    if "general" in context.inputs:
        return mixture.mixed(TokenFile(context.inputs["general"]), examples, wanted, width, seed)
    chosen, counts = mixture.budgeted(examples, wanted)
    return packing.pack(chosen, separator, width, seed), counts
