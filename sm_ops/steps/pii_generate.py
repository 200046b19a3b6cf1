"""pii_generate: the synthetic documents of three partitions, or the user's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.home import home_folder
from sm_ops.pii.documents import generate
from sm_ops.pii.own import read_documents
from sm_ops.steps._documents import read_rows, write_rows
from sm_ops.vault import Vault

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers

SPLITS = ("train", "validation", "test")


def run(settings: Settings, context: Context) -> Numbers:
    """Write the partitions and the manifest, put the labelled values into the vault; count documents and entities."""
    documents = settings.documents
    if documents.own.test is None:
        manifest = generate(context.scratch, documents.seed, documents.scale)
        splits = {split: read_rows(context.scratch / f"{split}.jsonl") for split in SPLITS}
    else:
        splits = {split: read_documents(Path(getattr(documents.own, split))) for split in SPLITS}
        manifest = {"documents": "own", "records": {split: len(rows) for split, rows in splits.items()}}
    splits = {split: rows[: getattr(documents, split)] for split, rows in splits.items()}
    numbers: dict[str, Any] = {"records": sum(map(len, splits.values()))}
    for split, rows in splits.items():
        write_rows(context.outputs[split], rows)
        numbers |= {f"{split}_documents": len(rows), f"{split}_entities": sum(len(row["entities"]) for row in rows)}
    known = _store_values([row for rows in splits.values() for row in rows])
    fs.write_json(context.outputs["manifest"], {**manifest, "known_values": known})
    return numbers


def _store_values(rows: Iterable[dict[str, Any]]) -> str:
    """The labelled values as known values of the vault, named by what they are, for the search for leaks."""
    pairs = sorted({(entity["type"], entity["value"]) for row in rows for entity in row["entities"]})
    vault = Vault(home_folder() / "vault")
    vault.ensure()
    name = f"pii-values-{fs.sha256(fs.canonical_json(pairs))[:16]}"
    vault.add_values(name, pairs)
    return name
