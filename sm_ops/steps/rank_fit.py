"""rank_fit: an n-gram of safe outputs, cross-fitted over the validation side's groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core.records import Record
from sm_ops.data.records import read_records
from sm_ops.sanitizing import crossfit
from sm_ops.scoring.backends import ngram
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Fit to the validation side's safe outputs and the safe texts beside them, or to `reference.fit` alone."""
    reference, folder = settings.reference, context.outputs["model"]
    clean = read_split(context.inputs["clean"])

    def make(records: Sequence[Record], folder: Path) -> None:
        texts = [record.content for record in records]
        ngram.fit(texts, folder, order=reference.order, vocab_size=reference.vocab_size)

    if reference.fit is not None:
        records = list(read_records(reference.fit))
        make(records, folder / crossfit.WHOLE)
        return {"records": len(records), "parts": 0}
    validation = list(read_records(context.inputs["validation"]))
    parts = crossfit.fit(validation, folder, lambda kept, path: make([*clean, *_safe(kept)], path))
    return {"records": len(clean) + len(_safe(validation)), "parts": parts}


def _safe(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if not record.meta["risky"]]
