"""Presidio: English sentences from templates filled with made-up values (microsoft/presidio-research).

A line is a sentence: `id`, `masked` (its template), `text` and `spans` of `start`, `end` and `type`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.records import Record
from sm_ops.data.corpora._reading import Reading, documents, kept, name, place, template, typed, with_defaults

RULE = "piibench_raw"


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row is such a sentence: it carries its template."""
    return "masked" in row and "template_id" in row and "spans" in row


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a sentence, its group the template, its spans labelled by type; it has no settings.

    Raises `InputError` that names file, line and field.
    """
    with_defaults("presidio", settings, {})
    file, skipped = place("presidio", path), Counter()
    return Reading(_records(file, skipped), skipped)


def _records(file: Path, skipped: Counter[str]) -> Iterator[Record]:
    for document in documents("presidio", file, skipped):
        group, meta = template(name(document.row, "masked", document.where)), kept(document.row, ("split",))
        yield Record(document.id, text=document.text, group=group, spans=typed(document), meta=meta)
