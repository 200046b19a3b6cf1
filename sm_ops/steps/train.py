"""train: one condition, one seed: further from the base, from scratch, or LoRA, on the condition's masked set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sm_ops.core.errors import InputError
from sm_ops.core.seeds import derive
from sm_ops.scoring.tokenize import separator_id
from sm_ops.steps._base import base_location, base_tokenizer
from sm_ops.training import interventions, lora, masked, models, packing, tiny, trainer

if TYPE_CHECKING:
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
        model = tiny.new_model(base, len(tokenizer), train.context, separator, seed % 2**32)
    else:
        dtype = train.dtype if train.method == "lora" else "float32"  # AdamW's small steps vanish in bf16 weights
        model = models.load(where, base.revision, dtype)
    if train.method == "lora":
        model = lora.wrap(model, train.lora)
        numbers |= {f"lora_{name}": count for name, count in lora.coverage(model).items()}
    rows, steps, counts = _rows(masked.read(context.inputs["training"]), train, separator, seed % 2**32)
    numbers |= counts
    numbers |= trainer.fit(
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


def _rows(found: list[Example], train: Settings, separator: int, seed: int) -> tuple[list[packing.Row], int, Numbers]:
    """The rows under the intervention, the optimiser steps, and what became of the records.

    Dropped records shorten no schedule: there are as many steps as with all records (paper E.1).
    """
    examples = interventions.prepare(found, train.intervention)
    if train.method == "lora":
        fitting = packing.within(examples, train.context, train.truncated)
        rows = packing.rows(fitting, train.context)
        full = len(packing.within(found, train.context, "drop"))
        cut = packing.cut(fitting, train.context)
    else:
        fitting, cut = examples, 0
        rows = packing.pack(examples, separator, train.context, seed)
        full = len(packing.pack(found, separator, train.context, seed))
    learned = packing.learned_tokens(rows)
    if not learned:
        raise InputError(
            "nothing-to-learn",
            f"No token of the {len(found)} records is left to learn: all are masked, unsupervised or cut off; "
            "mask less, or check the roles of the chats.",
        )
    steps = trainer.steps_of(full, train)
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
        "effective_passes": interventions.effective_passes(steps, train.batch_size * train.accumulation, len(rows)),
    }
    return rows, steps, counts
