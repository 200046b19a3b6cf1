"""What the readers share: the records with a count of what was left out, and refusals that name a place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from sm_ops.core import settings as core_settings
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record


@dataclass(frozen=True)
class Reading:
    """Records, read while one goes through them (once), and how many documents were left out till then, by reason."""

    records: Iterator[Record]
    skipped: Counter[str]

    def __iter__(self) -> Iterator[Record]:
        return self.records


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
