"""What the readers share: the records with a count of what was left out, and refusals that name a place."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from sm_ops.core import settings as core_settings
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.registry import did_you_mean
from sm_ops.data.dataset import SPLITS
from sm_ops.data.records import jsonl_rows


@dataclass(frozen=True)
class Reading:
    """Records, read while one goes through them (once), and how many documents were left out till then, by reason."""

    records: Iterator[Record]
    skipped: Counter[str]

    def __iter__(self) -> Iterator[Record]:
        return self.records


SIDES_BY_SPLIT = {
    "validation": {"split": "calibration"},
    "records": {"split": "train"},
    "reference": {"split": "public"},
}
"""What the settings say of each side of a corpus that is generated split by split."""
_SPLITS = (*SPLITS, "public")


def check_generated(corpus: str, path: str | Path | None, split: Any) -> None:
    """`InputError` for a path, as a generated corpus reads none, and for a split that it has not."""
    if path is not None:
        raise InputError("no-reader", f"The corpus {corpus!r} is generated and reads no path; leave it out.")
    if split not in _SPLITS:
        hint = f"The corpus {corpus!r} has no split {split!r}; {did_you_mean(str(split), _SPLITS)}."
        raise InputError("unknown-split", hint)


def with_defaults(corpus: str, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The corpus's settings, the missing ones filled in."""
    return core_settings.with_defaults(f"the corpus {corpus!r}", given, defaults)


def place(corpus: str, path: str | Path | None) -> Path:
    """The file or folder that a reader reads; `InputError` where none is named or none is there."""
    if path is None:
        raise InputError("no-path", f"The corpus {corpus!r} reads a file or a folder; name it.")
    if not Path(path).exists():
        raise InputError("no-file", f"There is nothing at {path}; check the path.")
    return Path(path)


def refuse(where: str, field: str, reason: str) -> NoReturn:
    """A document that cannot be read: its file and line or number, the field and the reason, never a value."""
    raise InputError("bad-document", f"{where}, field {field}: {reason}.") from None


def string(row: Mapping[str, Any], field: str, where: str) -> str:
    """A field that must be a text without half surrogate pairs."""
    value = row.get(field)
    if not isinstance(value, str):
        refuse(where, field, "is missing" if value is None else "must be a string")
    if any("\ud800" <= character <= "\udfff" for character in value):
        refuse(where, field, "holds a lone surrogate, which no text file can store")
    return value


def name(row: Mapping[str, Any], field: str, where: str) -> str:
    """A field that must be a text and not an empty one."""
    return string(row, field, where) or refuse(where, field, "is empty")


Row = dict[str, Any]


class Document(NamedTuple):
    """A line of a file of documents: where it stands, its id and text, and the whole row."""

    where: str
    id: str
    text: str
    row: Row


def documents(corpus: str, path: str | Path | None, skipped: Counter[str], key: str = "id") -> Iterator[Document]:
    """The documents of a JSONL file in order; those without a visible character are left out and counted.

    Raises `InputError` for a file without documents, a row without id or text, and an id that comes twice.
    """
    file = place(corpus, path)
    if file.is_dir():
        raise InputError("no-file", f"{file} is a folder; the corpus {corpus!r} reads one .jsonl file, so name that.")
    seen: dict[str, str] = {}
    for line, row in jsonl_rows(file):
        where = f"{file}, {line}"
        identity, text = name(row, key, where), string(row, "text", where)
        if identity in seen:
            refuse(where, key, f"is the same as in {seen[identity]}")
        seen[identity] = line
        if not text.strip():
            skipped["no text"] += 1
            continue
        yield Document(where, identity, text, row)
    if not seen:
        raise InputError("no-documents", f"{file} holds no document; check the path.")


def marks(document: Document) -> Iterator[tuple[int, int, Row, str]]:
    """Start, end, the whole object and the field's name of everything in the list `spans` of a document."""
    found = document.row.get("spans")
    if not isinstance(found, list):
        refuse(document.where, "spans", "is missing" if found is None else "must be a list")
    for number, mark in enumerate(found):
        field = f"spans[{number}]"
        if not isinstance(mark, dict):
            refuse(document.where, field, "must be an object")
        start, end = mark.get("start"), mark.get("end")
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(document.text):
            refuse(document.where, f"{field}.start/end", "must be whole numbers within the text, the first one less")
        yield start, end, mark, field


def kept(row: Row, keys: Sequence[str]) -> Row:
    """Those of some keys that a row has."""
    return {key: row[key] for key in keys if row.get(key) is not None}


def typed(document: Document, wanted: Callable[[Row, str], bool] = lambda mark, where: True) -> tuple[Span, ...]:
    """The wanted spans of a document, labelled by their `type`; `wanted` is given an object and where it stands."""
    places = ((start, end, mark, f"{document.where}, {field}") for start, end, mark, field in marks(document))
    return tuple(Span(a, b, name(mark, "type", where)) for a, b, mark, where in places if wanted(mark, where))


def are_typed(row: Row, types: frozenset[str]) -> bool:
    """Whether a row has a list of spans, all of them (there may be none) of some types."""
    spans = row.get("spans")
    return isinstance(spans, list) and all(isinstance(span, dict) and span.get("type") in types for span in spans)


def form(text: str, spans: Sequence[Span]) -> str:
    """A text with labels in place of its spans: equal for sentences of one template."""
    parts, position = [], 0
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        parts.append(f"{text[position : span.start]}{{{span.label}}}")
        position = max(position, span.end)
    return "".join([*parts, text[position:]])


def template(masked: str) -> str:
    """The group of the sentences of one template, named by a digest."""
    return f"template-{hashlib.blake2b(masked.encode(), digest_size=6).hexdigest()}"
