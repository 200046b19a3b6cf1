"""rewrite_fit: an n-gram reference from clean texts: those of `reference.fit`, or the generated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.data.records import read_records
from sm_ops.scoring.backends import ngram

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Count the clean texts; neither side's texts are among them."""
    reference = settings.reference
    texts = [record.content for record in read_records(reference.fit or context.inputs["clean"])]
    ngram.fit(texts, context.outputs["model"], order=reference.order, vocab_size=reference.vocab_size)
    return {"records": len(texts)}
