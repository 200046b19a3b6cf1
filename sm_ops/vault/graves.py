"""What was shredded: when, and how much it held. A name may be written again, and shredded again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.vault.files import write

Grave = dict[str, Any]
_FIELDS = {"when", "key", "records", "values"}


class Graves:
    """The tombstones of a vault, a file a name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, name: str) -> list[Grave]:
        """What was shredded under a name, the oldest first."""
        path = self._path(name)
        return _read(path) if path.is_file() else []

    def all(self) -> Iterator[tuple[str, Grave]]:
        """`(name, tombstone)` of all."""
        for path in sorted(self._folder.glob("*.json")):
            yield from ((path.stem, grave) for grave in _read(path))

    def add(self, name: str, grave: Grave) -> None:
        """Remember one more."""
        write(self._path(name), fs.canonical_json([*self.of(name), grave]))

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"


def _read(path: Path) -> list[Grave]:
    try:
        graves = fs.read_json(path)
        if all(grave.keys() >= _FIELDS for grave in graves):
            return graves
    except (ValueError, TypeError, AttributeError):
        pass
    raise InputError("vault-damaged", f"{path} is damaged; put back a sound copy of it, or remove it.")
