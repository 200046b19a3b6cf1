"""What the data set is, in counts and hashes; no times, no paths, no text of the data (G4)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sm_ops.core.fs import sha256
from sm_ops.pii.documents import surface, templates
from sm_ops.pii.documents.checks.wellformed import Document
from sm_ops.pii.documents.draws import VERSION
from sm_ops.pii.documents.plan import LANGUAGES, PARTITIONS, SURFACE_PERCENT
from sm_ops.pii.documents.vocabularies import vocabularies
from sm_ops.pii.types import TYPES


def described(
    documents: list[Document],
    surfaces: Counter,
    files: dict[str, bytes],
    results: dict[str, Any],
    seed: int,
    scale: int,
) -> dict[str, Any]:
    """The manifest. `surfaces` counts positive Korean records by (partition, form)."""
    return {
        "generator_version": VERSION,
        "seed": seed,
        "scale": scale,
        "records": len(documents),
        "files": {
            name: {"bytes": len(data), "records": data.count(b"\n"), "sha256": sha256(data)}
            for name, data in files.items()
        },
        "partitions": {
            partition: _counts([each for each in documents if each.record["partition"] == partition])
            for partition in PARTITIONS
        },
        "surface_forms": {
            partition: {form: surfaces[partition, form] for form in SURFACE_PERCENT} for partition in PARTITIONS
        },
        "templates_sha256": templates.digest(),
        "additions_sha256": surface.digest(),
        "vocabularies_sha256": vocabularies().hashes(),
        "vocabulary_sizes": vocabularies().sizes(),
        "checks": results,
    }


def _counts(documents: list[Document]) -> dict[str, Any]:
    cells = {}
    for lang in LANGUAGES:
        records = [each.record for each in documents if each.record["lang"] == lang]
        types = Counter(entity["type"] for record in records for entity in record["entities"])
        cells[lang] = {
            "records": len(records),
            "negative": sum(record["negative"] for record in records),
            "pairs": types.total(),
            "types": {type_: types[type_] for type_ in TYPES},
        }
    return cells
