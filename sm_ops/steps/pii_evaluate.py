"""pii_evaluate: judge predictions on the test documents (R24 to R31), in parts and with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.pii import evaluation
from sm_ops.pii.breakdown import breakdown
from sm_ops.steps._documents import read_rows

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Counts and rates, never a value."""
    documents = read_rows(context.inputs["test"])
    counts = list(evaluation.documents(documents, read_rows(context.inputs["predictions"])))
    result = breakdown(documents, counts)
    fs.write_json(context.outputs["evaluation"], result)
    whole, rates = result["scores"][0], result["rates"]["all"]
    return {
        "f1": round(whole["f1"]["value"], 4),
        "document_leak": round(rates["document_leak"]["value"], 4),
        "parse_success": round(rates["parse_success"]["value"], 4),
    }
