"""The whole data set: records, files, checks, manifest and card (G1 to G12)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.fs import write_atomic, write_json
from sm_ops.pii.documents import card, manifest
from sm_ops.pii.documents.build import build
from sm_ops.pii.documents.checks import judge_values, judged
from sm_ops.pii.documents.checks.wellformed import Document
from sm_ops.pii.documents.plan import MAX_SCALE, PARTITIONS, places
from sm_ops.pii.documents.values.numbers import Numbers
from sm_ops.pii.documents.vocabularies import vocabularies


def generate(folder: Path, seed: int = 42, scale: int = 1) -> dict[str, Any]:
    """Write the data set of a seed, 2,200 * scale records, with offsets, manifest and data card; returns the manifest.

    Raises `InputError` for a scale that the ranges of numbers do not carry, `StageError` where a check fails; then
    nothing is written.
    """
    if not 1 <= scale <= MAX_SCALE:
        raise InputError(
            "pii-scale", f"--scale is between 1 and {MAX_SCALE}: numbers nobody can hold are no more than that."
        )
    names, numbers = vocabularies(), Numbers(seed, scale)
    documents: list[Document] = []
    surfaces: Counter[tuple[str, str]] = Counter()
    drafts = 0
    for place in places(seed, scale):
        document, thrown_away = build(place, names, numbers)
        judge_values(document)
        documents.append(document)
        surfaces.update((place.partition, form) for form in place.surfaces)
        drafts += thrown_away
    results = judged(documents) | {"drafts_thrown_away": drafts}
    files = {}
    for partition in PARTITIONS:
        own = ordered([document for document in documents if document.record["partition"] == partition])
        files[f"{partition}.jsonl"] = _lines(document.record for document in own)
        files[f"{partition}.spans.jsonl"] = _lines(_offsets(document) for document in own)
    described = manifest.described(documents, surfaces, files, results, seed, scale)
    (folder / "manifest.json").unlink(missing_ok=True)  # it is written last, and speaks for all that stands beside it
    for name, data in files.items():
        write_atomic(folder / name, data)
    write_atomic(folder / "README.md", card.written(described).encode())
    write_json(folder / "manifest.json", described)
    return described


def ordered(documents: list[Document]) -> list[Document]:
    """Documents by the SHA-256 of their ids (G3)."""
    return sorted(documents, key=lambda document: hashlib.sha256(document.record["id"].encode()).digest())


def _offsets(document: Document) -> dict[str, Any]:
    return {
        "id": document.record["id"],
        "spans": sorted([each.start, each.end, each.type] for each in document.planted),
        "hard": sorted([each.start, each.end, each.type] for each in document.hard),
    }


def _lines(rows: Iterable[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode()
