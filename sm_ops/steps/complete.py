"""complete: what one trained model (or the base model) answers to the prompts of the utility split, several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sm_ops.core.errors import InputError
from sm_ops.core.seeds import derive
from sm_ops.data.prompts import asked
from sm_ops.scoring.completing import Completion, complete
from sm_ops.scoring.tokenize import control_tokens, end_ids, prompt_ids_all
from sm_ops.steps._base import base_tokenizer
from sm_ops.steps._documents import write_rows
from sm_ops.steps._models import measured_model
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the answers; count their tokens, and those that were cut by `max_tokens` or the model's context.

    Each prompt's draws depend on the seed and its id alone. Raises `InputError` where nothing is asked, and for a
    prompt that fills the context.
    """
    asks = settings.completions
    torch.set_num_threads(asks.threads)
    records = read_split(context.inputs["utility"])[: asks.prompts]
    if not records:
        raise InputError("nothing-to-ask", "The utility split is empty, so nothing is asked; give it records.")
    tokenizer = base_tokenizer(settings, context)
    prompts = prompt_ids_all(asked(records), tokenizer, asks.reasoning_effort)
    model = measured_model(settings, context, asks.device, asks.dtype)

    def chances(number: int) -> np.ndarray:
        generator = np.random.default_rng(derive(settings.seed, "complete", records[number].id))
        return generator.random((asks.samples, asks.max_tokens))

    found = complete(
        model, prompts, chances,
        samples=asks.samples, ends=[end_ids(record, tokenizer) for record in records], temperature=asks.temperature,
        top_p=asks.top_p, batch_size=asks.batch_size, progress=context.progress,
    )  # fmt: skip
    control = control_tokens(tokenizer).keys()
    rows = [
        {"id": record.id, "completions": [_answer(each, tokenizer, control) for each in own]}
        for record, own in zip(records, found, strict=True)
    ]
    write_rows(context.outputs["completions"], rows)
    every = [each for own in found for each in own]
    return {
        "tokens": sum(len(each.ids) for each in every),
        "prompts": len(records),
        "completions": len(every),
        "cut": sum(each.cut for each in every),
    }


def _answer(completion: Completion, tokenizer: Any, control: Iterable[int]) -> str:
    """What follows the last control token: models that reason first mark their answer with one."""
    places = [place for place, token in enumerate(completion.ids, 1) if token in control]
    answer = completion.ids[max(places, default=0) :]
    return tokenizer.decode(answer, clean_up_tokenization_spaces=False)
