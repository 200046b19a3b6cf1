"""pii_detect: what a detector finds in the test documents, as rows that the extractor would write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import registry
from sm_ops.pii.baselines import predictions
from sm_ops.pii.rows import parse_flag, parse_rows
from sm_ops.steps._documents import read_rows, write_rows

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write a prediction a document; count rows."""
    documents = read_rows(context.inputs["test"])
    detector = registry.load("detector", settings.detector).load({})
    found = predictions(detector, [document["source_text"] for document in documents])
    rows = [
        {"id": document["id"], "prediction": text, "parse_success": parse_flag(document["source_text"], text)}
        for document, text in zip(documents, found, strict=True)
    ]
    write_rows(context.outputs["predictions"], rows)
    return {"documents": len(rows), "rows": sum(len(parse_rows(text)) for text in found)}
