"""base: train the small GPT-2 on public code and clean programs of the data's kind, or on the mixture, unmasked."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from sm_ops.scoring.tokenize import load_tokenizer, separator_id, tokenize_all
from sm_ops.steps._splits import read_split
from sm_ops.training import mixture, models, packing, tiny, trainer
from sm_ops.training.masked import unmasked
from sm_ops.training.token_file import TokenFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Tokenizer and model. Without general text: the public code once an epoch, the clean programs some times."""
    base = settings.base
    folder = context.outputs["model"]
    mixed = "general" in context.inputs
    public, clean = ([] if mixed else read_split(context.inputs[name]) for name in ("public", "reference"))
    if "tokenizer" in context.inputs:
        shutil.copytree(context.inputs["tokenizer"], folder, dirs_exist_ok=True)
    else:
        tiny.write_tokenizer(base, (record.content for record in public + clean), folder)
    tokenizer = load_tokenizer(str(folder))
    separator = separator_id(tokenizer)
    rows: Sequence[packing.Row]
    counts: dict[str, Any]
    if mixed:
        records = read_split(context.inputs["train"])
        examples = unmasked(records, tokenize_all(records, tokenizer))
        general, wanted = TokenFile(context.inputs["general"]), settings.mixture.domain_tokens
        rows, counts = mixture.mixed(general, examples, wanted, base.context, base.seed)
    else:
        records = public + clean * base.reference_repeats
        examples = unmasked(records, tokenize_all(records, tokenizer))
        rows = packing.pack(examples, separator, base.context, base.seed)
        counts = {"public_records": len(public), "clean_records": len(clean)}
    model = tiny.new_model(base, len(tokenizer), base.positions or base.context, separator, base.seed)
    history = context.outputs["history"]
    result = trainer.fit(
        model, rows, separator, base, base.seed, context.scratch, context.progress, history_file=history
    )
    models.save(model, folder)
    return {**result, "parameters": model.num_parameters(), "rows": len(rows), **counts}
