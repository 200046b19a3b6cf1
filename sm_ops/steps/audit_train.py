"""audit_train: fine-tune the base model on what a defence left, plainly or with differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.history import write_history
from sm_ops.core.seeds import derive
from sm_ops.scoring.tokenize import separator_id
from sm_ops.steps._base import base_location
from sm_ops.steps._tuning import rows_of, tokenizer_and_model
from sm_ops.training import masked, models, packing, private, self_check, trainer

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Train, save, and check that training changed the model and that it loads again as it was."""
    train = settings.train
    seed = derive(settings.seed, "audit_train")
    tokenizer, model = tokenizer_and_model(settings, context, seed)
    separator = separator_id(tokenizer)
    examples = masked.read(context.inputs["training"])
    rows = rows_of(examples, train, tokenizer)
    before = self_check.weights(model)
    numbers: dict[str, Any] = {
        "records": len(rows),
        "records_cut": packing.cut(examples, train.context - 2),
        "learned_tokens": packing.learned_tokens(rows),
    }
    if settings.private is None:
        held_out = masked.read(context.inputs["validation"])
        validation = () if train.patience is None else packing.texts(held_out, separator, train.context)
        numbers |= trainer.fit(
            model,
            rows,
            separator,
            train,
            seed,
            context.scratch,
            context.progress,
            validation=validation,
            patience=train.patience,
            history_file=context.outputs["history"],
        )
    else:
        write_history([], context.outputs["history"])  # a batch's plain loss would tell more than epsilon allows
        by_id = fs.read_json(context.inputs["groups"])
        groups = [by_id[example.id] for example in examples]
        numbers |= private.fit_private(
            model, rows, groups, separator, train, settings.private, seed, context.scratch, context.progress
        )
    models.save(model, context.outputs["model"])
    where, revision = base_location(settings, context), settings.base.revision
    numbers |= self_check.check(model, before, context.outputs["model"], where, revision)
    fs.write_json(context.outputs["training"], numbers)
    return numbers
