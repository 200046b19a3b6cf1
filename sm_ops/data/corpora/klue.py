"""KLUE: Korean sentences of news and film reviews with named entities (KLUE-NER; Park et al., 2021; CC BY-SA 4.0).

A line is a sentence: `id`, `source`, `text` and `spans` of `start`, `end` and `type` (PS LC OG DT TI QT).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.records import Record
from sm_ops.data.corpora._reading import Reading, are_typed, documents, kept, place, typed, with_defaults

RULE = "piibench_raw"
TYPES = frozenset(("PS", "LC", "OG", "DT", "TI", "QT"))


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row is such a sentence, by its source and types."""
    return "source" in row and are_typed(row, TYPES)


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a sentence, its own group, its spans labelled by type; it has no settings. `meta.source` says whence.

    Raises `InputError` that names file, line and field.
    """
    with_defaults("klue", settings, {})
    file, skipped = place("klue", path), Counter()
    return Reading(_records(file, skipped), skipped)


def _records(file: Path, skipped: Counter[str]) -> Iterator[Record]:
    for document in documents("klue", file, skipped):
        meta = kept(document.row, ("source", "split"))
        yield Record(document.id, text=document.text, group=document.id, spans=typed(document), meta=meta)
