"""base: train the small GPT-2 on public code and clean programs of the data's kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.scoring.tokenize import load_tokenizer, separator_id, tokenize_all
from sm_ops.steps._splits import read_split
from sm_ops.training import models, packing, tiny, trainer
from sm_ops.training.masked import unmasked

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Tokenizer and model, from the public code once an epoch and the clean reference programs some times."""
    base = settings.base
    public = read_split(context.inputs["public"])
    clean = read_split(context.inputs["reference"])
    folder = context.outputs["model"]
    texts = [record.content for record in public + clean]
    tiny.train_tokenizer(texts, base.vocab_size, folder)
    tokenizer = load_tokenizer(str(folder))
    records = public + clean * base.reference_repeats
    examples = unmasked(records, tokenize_all(records, tokenizer))
    separator = separator_id(tokenizer)
    rows = packing.pack(examples, separator, base.context, base.seed)
    model = tiny.new_model(base, len(tokenizer), base.context, separator, base.seed)
    history = context.outputs["history"]
    result = trainer.fit(
        model, rows, separator, base, base.seed, context.scratch, context.progress, history_file=history
    )
    models.save(model, folder)
    return {
        **result,
        "parameters": model.num_parameters(),
        "rows": len(rows),
        "public_records": len(public),
        "clean_records": len(clean),
    }
