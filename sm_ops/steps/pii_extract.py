"""pii_extract: what a model, tuned or not, lists of the test documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sm_ops.pii.extractor.infer import extract
from sm_ops.pii.extractor.loading import load_base, load_tuned
from sm_ops.pii.rows import parse_flag, parse_rows
from sm_ops.pii.text import normalise_source
from sm_ops.steps._base import base_location, base_tokenizer
from sm_ops.steps._documents import read_rows, write_rows
from sm_ops.training.models import pick_device

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the raw answers, each with its flag (R25); count rows and flags."""
    chosen, where = settings.extract, base_location(settings, context)
    torch.set_num_threads(chosen.threads)
    documents = read_rows(context.inputs["test"])
    tokenizer = base_tokenizer(settings, context)
    if folder := context.inputs.get("model"):
        model = load_tuned(folder, where, settings.base, chosen.dtype)
    else:
        model = load_base(where, settings.base, chosen.dtype)
    if settings.base.quantization == "none":
        model = model.to(pick_device(chosen.device))
    sources = [normalise_source(document["source_text"]) for document in documents]
    answers = extract(model, tokenizer, sources, settings.base, chosen, context.progress)
    rows = [
        {"id": document["id"], "prediction": answer, "parse_success": parse_flag(source, answer)}
        for document, source, answer in zip(documents, sources, answers, strict=True)
    ]
    write_rows(context.outputs["predictions"], rows)
    return {
        "documents": len(rows),
        "parsed": sum(row["parse_success"] for row in rows),
        "rows": sum(len(parse_rows(answer)) for answer in answers),
    }
