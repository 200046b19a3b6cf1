"""pii_tune: teach the base model to list private values, on the training documents; one seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sm_ops.core.seeds import derive
from sm_ops.pii.extractor.loading import load_base
from sm_ops.pii.extractor.tune import tune, validation_loss
from sm_ops.steps._base import base_location, base_tokenizer
from sm_ops.steps._documents import read_rows
from sm_ops.training import models

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Tune and save the model (or the adapter). The seed draws the order of the documents and all that is random."""
    chosen, where = settings.tune, base_location(settings, context)
    torch.set_num_threads(chosen.threads)
    train, validation = (read_rows(context.inputs[split]) for split in ("train", "validation"))
    tokenizer = base_tokenizer(settings, context)
    dtype = chosen.dtype if chosen.method == "lora" else "float32"  # AdamW's small steps vanish in bf16 weights
    model = load_base(where, settings.base, dtype)
    seed = derive(settings.seed, "pii_tune")
    model, numbers = tune(
        model,
        tokenizer,
        train,
        settings.base,
        chosen,
        seed,
        context.scratch,
        context.progress,
        context.outputs["history"],
    )
    models.save(model, context.outputs["model"])
    return {**numbers, "validation_loss": validation_loss(model, tokenizer, validation, settings.base, chosen)}
