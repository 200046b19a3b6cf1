"""san_fit: an n-gram of the validation side's other content, cross-fitted over its groups, and of public code."""

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

REPEAT = 3
"""How often the corpus's own content counts beside public code."""


def run(settings: Settings, context: Context) -> Numbers:
    """Fit the n-gram to what is no target, or to the clean records that `reference.fit` names instead."""
    reference = settings.reference
    public = [record.content for record in read_split(context.inputs["public"])]

    def make(records: Sequence[Record], folder: Path) -> None:
        own = [text for record in records for text in crossfit.outside(record)]
        repeat = [1] * len(public) + [REPEAT] * len(own)
        ngram.fit([*public, *own], folder, order=reference.order, vocab_size=reference.vocab_size, repeat=repeat)

    folder = context.outputs["model"]
    if reference.fit is not None:
        clean = list(read_records(reference.fit))
        make(clean, folder / crossfit.WHOLE)
        return {"records": len(clean), "parts": 0}
    records = list(read_records(context.inputs["validation"]))
    return {"records": len(records), "parts": crossfit.fit(records, folder, make)}
