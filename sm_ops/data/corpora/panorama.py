"""PANORAMA: online posts of synthetic people, with direct and quasi identifiers (Selvam et al., 2025).

A line is a post: `id`, `kind`, `text` and `spans` of `start`, `end`, `type` and `identifier`, as in the corpus `tab`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.corpora._reading import Reading, documents, kept, name, place, typed, with_defaults

RULE = "piibench_raw"
IDENTIFIERS = ("DIRECT", "QUASI", "NO_MASK")
_DEFAULTS = {"identifiers": ("DIRECT", "QUASI")}


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row is a post: of some kind, with identifiers."""
    spans = row.get("spans")
    return "kind" in row and isinstance(spans, list) and all(isinstance(s, dict) and "identifier" in s for s in spans)


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a post, its own group, its spans labelled by entity type; `meta.kind` is where it stood.

    Reads `identifiers`: which of DIRECT, QUASI, NO_MASK are targets; the others are other content.
    Raises `InputError` that names file, line and field.
    """
    wanted = with_defaults("panorama", settings, _DEFAULTS)["identifiers"]
    if not wanted or not set(wanted) <= set(IDENTIFIERS):
        hint = f"The setting `identifiers` of the corpus 'panorama' lists some of {', '.join(IDENTIFIERS)}."
        raise InputError("bad-identifiers", hint)
    file, skipped = place("panorama", path), Counter()
    return Reading(_records(file, frozenset(wanted), skipped), skipped)


def _records(file: Path, wanted: frozenset[str], skipped: Counter[str]) -> Iterator[Record]:
    for document in documents("panorama", file, skipped):
        spans = typed(document, lambda mark, where: name(mark, "identifier", where) in wanted)
        meta = kept(document.row, ("kind", "split"))
        yield Record(document.id, text=document.text, group=document.id, spans=spans, meta=meta)
