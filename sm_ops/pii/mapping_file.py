"""Mappings in an explicit file, for its owner alone: JSONL, a row `{format, id, mapping, digest}` a record.

The vault is the place for mappings; this is for those who take the secret elsewhere on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from sm_ops.core.errors import InputError
from sm_ops.pii.files import Row, created, locked, whole
from sm_ops.pii.lookup import table

FORMAT = "pii-mapping/1"


class _Rows:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def add(self, record_id: str, mapping: Mapping[str, str], digest: str) -> None:
        """Write the mapping of one record, and the digest of its masked text."""
        row = {"format": FORMAT, "id": record_id, "mapping": dict(mapping), "digest": digest}
        self._stream.write(json.dumps(row).encode() + b"\n")


@contextmanager
def writing_mappings(path: Path, replace: bool) -> Iterator[_Rows]:
    """Write a mapping file (mode 0600), which takes its place when the block ends without an error.

    `InputError`, then as before, for a file that is there, unless it is a mapping file that is to be replaced.
    """
    _check_free(path, replace)
    with ExitStack() as until_renamed, whole(path) as unfinished:
        with created(unfinished, 0o600) as stream:
            yield _Rows(stream)
        until_renamed.enter_context(locked(path.parent, wait=True))
        _check_free(path, replace)


def _check_free(path: Path, replace: bool) -> None:
    if path.exists() and not (replace and is_mapping_file(path)):
        hint = f"{path} is there, perhaps the only way back from what was masked with it; choose another name"
        hint += ", for it is no mapping file." if replace else ", or give it up with --replace."
        raise InputError("mappings-there", hint)


def is_mapping_file(path: Path) -> bool:
    """Whether a file begins as one that `writing_mappings` wrote."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return f'"{FORMAT}"'.encode() in stream.read(4096)


class MappingFile:
    """The mappings of a file by record id."""

    def __init__(self, path: Path) -> None:
        """`InputError` where it is no mapping file, or one that others may read."""
        self._table = table(path, _check)
        if path.stat().st_mode & 0o077:
            hint = f"{path} undoes the masking and may be read by others than its owner; first: chmod 600 {path}"
            raise InputError("mapping-permissions", hint)

    def __enter__(self) -> MappingFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._table.close()

    def __len__(self) -> int:
        return len(self._table)

    def get_with_digest(self, record_id: str) -> tuple[dict[str, str], str]:
        """The mapping of one record, and its text's digest or ""; `InputError` for an id that is not there."""
        row = self._table.get(record_id)
        if row is None:
            raise InputError("unknown-record", "The mapping file has no record of that id; is it the right file?")
        return row["mapping"], row.get("digest", "")


def _check(row: Row) -> None:
    value = row.value
    sound = isinstance(value.get("mapping"), dict) and isinstance(value.get("digest", ""), str)
    if value.get("format") != FORMAT or not sound:
        raise row.refused(f"it is no mapping of format {FORMAT}; name a file that `sm-ops pii mask --mapping` wrote")
