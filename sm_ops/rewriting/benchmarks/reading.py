"""What the readers of both formats share: rows with their places, fields with their types, answers as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from sm_ops.core.errors import InputError
from sm_ops.data.records import jsonl_rows

Row = dict[str, Any]


def rows(path: str | Path) -> Iterator[tuple[str, Row]]:
    """Place (`FILE, line N`) and object of each line of a .jsonl file, or of those of a folder in order of names."""
    path = Path(path)
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise InputError("no-file", f"There is no .jsonl file at {path}; check the path.")
    for file in files:
        yield from ((f"{file}, {place}", row) for place, row in jsonl_rows(file))


def refuse(where: str, field: str, reason: str) -> NoReturn:
    """A row that cannot be read: its place, the field and the reason, never a value."""
    raise InputError("bad-document", f"{where}, field {field}: {reason}.")


def field(row: Row, name: str, kind: type, where: str) -> Any:
    """A field that must be there and of a type; a text must hold something."""
    value: Any = row.get(name)
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        refuse(where, name, "is missing" if value is None else f"must be {_NAMES[kind]}")
    if kind is str and not value.strip():
        refuse(where, name, "is empty")
    return value


def json_in(answer: str, kind: type) -> Any:
    """The JSON object or list in a model's answer, whatever stands around it; None where there is none."""
    opening, closing = {dict: "{}", list: "[]"}[kind]
    start, end = answer.find(opening), answer.rfind(closing)
    try:
        found = json.loads(answer[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, kind) else None


_NAMES = {str: "a text", int: "a whole number", dict: "an object", list: "a list", bool: "true or false"}
