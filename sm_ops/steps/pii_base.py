"""pii_base: make the tiny model from the training documents' texts; their labels are not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.pii.extractor import base
from sm_ops.pii.text import normalise_source
from sm_ops.steps._documents import read_rows
from sm_ops.training import models

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Tokenizer and model."""
    texts = [normalise_source(document["source_text"]) for document in read_rows(context.inputs["train"])]
    folder = context.outputs["model"]
    model, numbers = base.make(texts, settings.base, folder, context.scratch, context.progress)
    models.save(model, folder)
    return {**numbers, "documents": len(texts)}
