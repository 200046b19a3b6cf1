"""fit: fit a reference to clean content: an n-gram from counts, or a causal model by further training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from sm_ops.core.records import Record
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Clean records are those of `reference.fit`, or without it the reference split of the data."""
    reference = settings.reference
    clean = _clean_records(reference.fit or context.inputs["reference"])
    if reference.backend == "ngram":
        from sm_ops.scoring.backends import ngram

        public = [record.content for record in read_split(context.inputs["public"])]
        texts = public + [record.content for record in clean] * settings.base.reference_repeats
        ngram.fit(texts, context.outputs["model"], order=reference.order, vocab_size=reference.vocab_size)
        return {"records": len(clean)}
    return {"records": len(clean), **_train_further(settings, clean, context)}


def _clean_records(path: str | Path) -> list[Record]:
    records = read_split(Path(path))
    labelled = sum(bool(record.spans) for record in records)
    if labelled:
        raise InputError(
            "reference-not-clean",
            f"{Path(path).name}: {labelled} of {len(records)} records have labelled spans, but a reference is fitted "
            "to clean content alone; leave those records out.",
        )
    return records


def _train_further(settings: Settings, clean: list[Record], context: Context) -> Numbers:
    from sm_ops.scoring.tokenize import load_tokenizer, separator_id, tokenize_all
    from sm_ops.training import models, packing, trainer
    from sm_ops.training.masked import unmasked

    base, reference = settings.base, settings.reference
    where = str(context.inputs.get("base", reference.model or base.name))
    tokenizer = load_tokenizer(where, reference.revision)
    model = models.load(where, reference.revision)
    width = min(base.context, getattr(model.config, "max_position_embeddings", base.context))
    separator = separator_id(tokenizer)
    examples = unmasked(clean, tokenize_all(clean, tokenizer))
    rows = packing.pack(examples, separator, width, base.seed)
    schedule = Settings({**base.plain(), "epochs": base.reference_repeats})
    result = trainer.fit(model, rows, separator, schedule, base.seed, context.scratch, context.progress)
    models.save(model, context.outputs["model"])
    tokenizer.save_pretrained(str(context.outputs["model"]))
    return {**result}
