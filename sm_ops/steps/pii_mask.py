"""pii_mask: mask the test documents by predictions, and put the mappings into the vault, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import StageError
from sm_ops.core.home import home_folder
from sm_ops.pii.corpus import text_digest
from sm_ops.pii.replacement import mask, restore
from sm_ops.pii.rows import accept
from sm_ops.pii.text import normalise_source
from sm_ops.steps._documents import read_rows, write_rows
from sm_ops.vault import Vault

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the masked texts; the vault's data set is named by their content, so that text and mapping fit for ever.

    Raises `StageError` where a document does not come back from the vault as it was (R23).
    """
    documents = read_rows(context.inputs["test"])
    predictions = {row["id"]: row for row in read_rows(context.inputs["predictions"])}
    masked = []
    for document in documents:
        prediction, source = predictions[document["id"]], document["source_text"]
        masked.append(mask(source, accept(source, prediction["prediction"]) if prediction["parse_success"] else []))
    rows = [
        {"id": document["id"], "text": each.text, "spans": [list(span) for span in each.spans]}
        for document, each in zip(documents, masked, strict=True)
    ]
    write_rows(context.outputs["masked"], rows)

    vault = Vault(home_folder() / "vault")
    vault.ensure()
    name = f"pii-{fs.file_hash(context.outputs['masked'])[:16]}"
    with vault.writer(name) as writer:
        for document, each in zip(documents, masked, strict=True):
            writer.add(document["id"], each.mapping, text_digest([each.text]))
    kept = vault.mappings(name)
    for index, (document, row) in enumerate(zip(documents, rows, strict=True)):
        if restore(row["text"], kept.get(document["id"])) != normalise_source(document["source_text"]):
            raise StageError("not-restored", f"Document {index} does not come back from the vault as it was.")
    numbers = {
        "documents": len(documents),
        "spans": sum(len(each.spans) for each in masked),
        "tokens": sum(len(each.mapping) for each in masked),
        "restored": len(rows),
    }
    fs.write_json(context.outputs["vault"], {"dataset": name, **numbers})
    return dict(numbers)
