"""train: one condition, one seed: further from the base, from scratch, or LoRA, on the condition's masked set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sm_ops.core.seeds import derive
from sm_ops.scoring.tokenize import load_tokenizer, separator_id
from sm_ops.steps._base import base_location
from sm_ops.training import lora, masked, models, packing, tiny, trainer

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Train and save the model (or the adapter). The seed draws the order of the data and all that is random."""
    train, base = settings.train, settings.base
    where = base_location(settings, context)
    tokenizer = load_tokenizer(where)
    separator = separator_id(tokenizer)
    seed = derive(settings.seed, "train")
    torch.manual_seed(seed)
    numbers: Numbers = {}
    if train.method == "scratch":
        model = tiny.new_model(base, len(tokenizer), train.context, separator, seed % 2**32)
    else:
        dtype = train.dtype if train.method == "lora" else "float32"  # AdamW's small steps vanish in bf16 weights
        model = models.load(where, base.revision, dtype)
    examples = masked.read(context.inputs["training"])
    if train.method == "lora":
        model = lora.wrap(model, train.lora)
        numbers |= {f"lora_{name}": count for name, count in lora.coverage(model).items()}
        rows = packing.rows(examples, train.context)
    else:
        rows = packing.pack(examples, separator, train.context, seed % 2**32)
    numbers |= trainer.fit(model, rows, separator, train, seed, context.scratch, context.progress)
    models.save(model, context.outputs["model"])
    return {**numbers, "rows": len(rows), "learned_tokens": packing.learned_tokens(rows)}
