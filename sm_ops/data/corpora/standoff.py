"""Standoff: documents whose annotations name places in the text, as the Text Anonymization Benchmark does.

Two layouts are read: the benchmark's own, a JSON list of documents with `doc_id`, `text` and `annotations`
(annotator -> `entity_mentions` of `start_offset`, `end_offset`, `entity_type`, `identifier_type`), and one document a
line with `id`, `text` and `spans` (`start`, `end`, `type`, `identifier`). A folder is all its .json and .jsonl files.
Where several people annotated a document, the first of their names in order counts, lest mentions be doubled.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.data.corpora._reading import Reading, name, place, refuse, string, with_defaults
from sm_ops.data.records import jsonl_rows

IDENTIFIERS = ("DIRECT", "QUASI", "NO_MASK")
_DEFAULTS = {"annotator": None, "identifiers": IDENTIFIERS, "label": "entity"}
_KEPT = {"dataset_type": "split", "tab_split": "split", "year": "year", "countries": "countries"}


class _Keys(NamedTuple):
    """The names of a mention's fields in a layout."""

    start: str
    end: str
    entity: str
    identifier: str


_LISTED = _Keys("start_offset", "end_offset", "entity_type", "identifier_type")
_BY_LINE = _Keys("start", "end", "type", "identifier")


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a document, its id also its group; spans are labelled by entity type.

    Reads `annotator` (null: the first in order; documents without that one are left out), `identifiers` (which of
    DIRECT, QUASI, NO_MASK are taken) and `label` ("entity" | "identifier": what a span's label says).
    Raises `InputError` that names the file, the document's place in it and the field.
    """
    values = with_defaults("standoff", settings, _DEFAULTS)
    if values["label"] not in ("entity", "identifier"):
        raise InputError("bad-label", "The setting `label` of the corpus 'standoff' is entity or identifier.")
    if not values["identifiers"] or not set(values["identifiers"]) <= set(IDENTIFIERS):
        hint = f"The setting `identifiers` of the corpus 'standoff' lists some of {', '.join(IDENTIFIERS)}."
        raise InputError("bad-identifiers", hint)
    skipped: Counter[str] = Counter()
    return Reading(_records(place("standoff", path), values, skipped), skipped)


def _files(path: Path) -> list[Path]:
    files = sorted(p for p in path.iterdir() if p.suffix in (".json", ".jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError("no-file", f"{path} holds no .json or .jsonl file; check the path.")
    return files


def _records(path: Path, settings: Mapping[str, Any], skipped: Counter[str]) -> Iterator[Record]:
    seen: dict[str, str] = {}
    for file in _files(path):
        for where, row in _documents(file):
            found = _record(row, where, settings)
            if found is None:
                skipped["other annotators"] += 1
                continue
            if found.id in seen:
                refuse(where, "id", f"is the same as in {seen[found.id]}")
            seen[found.id] = where
            yield found
    if not seen:
        raise InputError("no-documents", f"{path} holds no document that can be taken; check path and annotator.")


def _documents(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if file.suffix == ".jsonl":
        yield from ((f"{file}, {line}", row) for line, row in jsonl_rows(file))
        return
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError("bad-document", f"{file} is no JSON in UTF-8; check the file.") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("bad-document", f"{file} is no list of documents; one object a line goes into a .jsonl file.")
    yield from ((f"{file}, document {number}", row) for number, row in enumerate(rows))


def _record(row: dict[str, Any], where: str, settings: Mapping[str, Any]) -> Record | None:
    identity = name(row, "doc_id" if "doc_id" in row else "id", where)
    text = string(row, "text", where)
    if "annotations" in row:
        annotator, mentions, field = _annotated(row["annotations"], settings["annotator"], where)
        keys = _LISTED
    else:
        annotator, mentions, field, keys = row.get("annotator"), row.get("spans"), "spans", _BY_LINE
        if settings["annotator"] not in (None, annotator):
            return None
    if mentions is None:
        return None
    if not isinstance(mentions, list):
        refuse(where, field, "must be a list")
    spans = (_span(each, keys, text, where, f"{field}[{n}]", settings) for n, each in enumerate(mentions))
    own = sorted({span for span in spans if span is not None}, key=lambda span: (span.start, span.end, span.label))
    meta = {short: row[key] for key, short in _KEPT.items() if row.get(key) is not None}
    if annotator is not None:
        meta["annotator"] = annotator
    return Record(identity, text=text, group=identity, spans=tuple(own), meta=meta)


def _annotated(annotations: Any, wanted: str | None, where: str) -> tuple[str | None, Any, str]:
    """The annotator whose mentions count, the mentions (None: not that one's document), and their field's name."""
    if not isinstance(annotations, dict) or not annotations:
        refuse(where, "annotations", "must be an object with a key for each annotator")
    chosen = wanted or min(annotations)
    field = "annotations.(annotator).entity_mentions"
    if chosen not in annotations:
        return None, None, field
    if not isinstance(annotations[chosen], dict) or annotations[chosen].get("entity_mentions") is None:
        refuse(where, field, "is missing")
    return chosen, annotations[chosen]["entity_mentions"], field


def _span(mention: Any, keys: _Keys, text: str, where: str, field: str, settings: Mapping[str, Any]) -> Span | None:
    if not isinstance(mention, dict):
        refuse(where, field, "must be an object")
    start, end = (mention.get(key) for key in (keys.start, keys.end))
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        refuse(where, f"{field}.{keys.start}/{keys.end}", "must be whole numbers within the text, the first one less")
    if mention.get("span_text") not in (None, text[start:end]):
        refuse(where, f"{field}.span_text", "is not what stands there: offsets count other characters")
    identifier = mention.get(keys.identifier)
    if identifier not in (*IDENTIFIERS, None):
        refuse(where, f"{field}.{keys.identifier}", f"is none of {', '.join(IDENTIFIERS)}")
    if identifier is not None and identifier not in settings["identifiers"]:
        return None
    key = keys.entity if settings["label"] == "entity" else keys.identifier
    return Span(start, end, name(mention, key, f"{where}, {field}"))
