"""Own labelled records as documents of the evaluator and the extractor (R24, G2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.records import read_records
from sm_ops.pii.text import normalise_source, normalise_type, normalise_value
from sm_ops.pii.types import PRIORITY, TYPES

_ROW_ENDS = ("\n", "\r")


def read_documents(path: Path) -> list[dict[str, Any]]:
    """Records with spans as documents: `entities` are the distinct (type, spelling) in the order of their places.

    A document in which nothing is labelled is a negative. A spelling over a line end is an entity, but no row of
    `target_tsv` can hold it. Raises `InputError` with the record's index for a chat or a label that is no type.
    """
    return [_document(record, f"{path}, record {index}") for index, record in enumerate(read_records(path))]


def _document(record: Record, place: str) -> dict[str, Any]:
    if record.text is None:
        raise InputError("no-text", f"{place} is a chat; the documents of this pipeline are texts.")
    pairs = {}
    for number, span in enumerate(sorted(record.spans, key=lambda span: (span.start, span.end))):
        type_ = normalise_type(span.label)
        if type_ not in PRIORITY:
            known = ", ".join(TYPES)
            raise InputError("unknown-type", f"{place}, spans[{number}]: the label is none of {known}; rename it.")
        value = normalise_value(record.text[span.start : span.end])
        if not value:
            raise InputError("blank-span", f"{place}, spans[{number}] holds only blanks; remove it.")
        pairs[type_, value] = None
    text = normalise_source(record.text)
    rows = [f"{type_}\t{value}" for type_, value in pairs if not any(end in value for end in _ROW_ENDS)]
    return {
        "id": record.id,
        "lang": record.meta.get("lang") or ("ko" if any("가" <= letter <= "힣" for letter in text) else "en"),
        "negative": not pairs,
        "source_text": text,
        "entities": [{"type": type_, "value": value} for type_, value in pairs],
        "target_tsv": "\n".join(rows),
    }
