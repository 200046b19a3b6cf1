"""How the audit fine-tunes a model on records, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from sm_ops.core.errors import InputError
from sm_ops.scoring.tokenize import separator_id
from sm_ops.steps._base import base_location, base_tokenizer
from sm_ops.training import lora, models, packing

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context
    from sm_ops.training.masked import Example


def tokenizer_and_model(settings: Settings, context: Context, seed: int) -> tuple[Any, Any]:
    """The base model ready to be tuned: whole in float32, or behind adapters in the dtype of `train`."""
    train, where = settings.train, base_location(settings, context)
    tokenizer = base_tokenizer(settings, context)
    dtype = train.dtype if train.method == "lora" else "float32"  # AdamW's small steps vanish in bf16 weights
    model = models.load(where, settings.base.revision, dtype)
    torch.manual_seed(seed)
    return tokenizer, lora.wrap(model, train.lora) if train.method == "lora" else model


def rows_of(examples: Sequence[Example], train: Settings, tokenizer: Any) -> list[packing.Row]:
    """A row a record; `InputError` where nothing is left to learn."""
    rows = packing.texts(examples, separator_id(tokenizer), train.context)
    if not packing.learned_tokens(rows):
        raise InputError("nothing-to-learn", f"No token of the {len(examples)} records is left to learn; mask less.")
    return rows
