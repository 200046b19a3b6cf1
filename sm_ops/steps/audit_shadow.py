"""audit_shadow: a model that the attacker trains, undefended, on a random half of members and others."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.records import Record
from sm_ops.core.seeds import derive
from sm_ops.scoring.tokenize import separator_id, tokenize_all
from sm_ops.steps._splits import read_split
from sm_ops.steps._tuning import rows_of, tokenizer_and_model
from sm_ops.training import models, trainer
from sm_ops.training.masked import unmasked

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Train on one half of the records; the shadow of the next number has the other half."""
    pool = [record for split in ("train", "others") for record in read_split(context.inputs[split])]
    chosen = _half(pool, settings.number)
    seed = derive(settings.number, "audit_shadow")
    tokenizer, model = tokenizer_and_model(settings, context, seed)
    rows = rows_of(unmasked(chosen, tokenize_all(chosen, tokenizer)), settings.train, tokenizer)
    separator = separator_id(tokenizer)
    numbers = trainer.fit(model, rows, separator, settings.train, seed, context.scratch, context.progress)
    models.save(model, context.outputs["model"])
    fs.write_json(context.outputs["seen"], sorted(record.id for record in chosen))
    return {"records": len(chosen), **numbers}


def _half(pool: list[Record], number: int) -> list[Record]:
    """By pairs of numbers, so that every record is in exactly half of the shadows (OP-59)."""
    order = sorted(range(len(pool)), key=lambda place: pool[place].id)
    Random(f"shadows/{number // 2}").shuffle(order)
    middle = len(order) // 2
    return [pool[place] for place in sorted(order[:middle] if number % 2 == 0 else order[middle:])]
