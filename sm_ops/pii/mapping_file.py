"""Mappings in an explicit file, for its owner alone: JSONL, a row `{format, id, mapping}` for each record.

The vault is the place for mappings; this is for those who take the secret elsewhere on purpose.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sm_ops.core.errors import InputError
from sm_ops.pii.files import Row, created, whole
from sm_ops.pii.lookup import table

FORMAT = "pii-mapping/1"


class _Rows:
    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def add(self, record_id: str, mapping: Mapping[str, str]) -> None:
        """Write the mapping of one record."""
        self._stream.write(json.dumps({"format": FORMAT, "id": record_id, "mapping": dict(mapping)}).encode() + b"\n")


@contextmanager
def writing_mappings(path: Path) -> Iterator[_Rows]:
    """Write a mapping file (mode 0600), which takes its place when the block ends without an error."""
    with whole(path) as unfinished, created(unfinished, 0o600) as stream:
        yield _Rows(stream)


class MappingFile:
    """The mappings of a file by record id."""

    def __init__(self, path: Path) -> None:
        self._table = table(path, _check)

    def __len__(self) -> int:
        return len(self._table)

    def get(self, record_id: str) -> dict[str, str]:
        """The mapping of one record; `InputError` for an id that the file does not have."""
        row = self._table.get(record_id)
        if row is None:
            raise InputError("unknown-record", "The mapping file has no record of that id; is it the right file?")
        return row["mapping"]


def _check(row: Row) -> None:
    if row.value.get("format") != FORMAT or not isinstance(row.value.get("mapping"), dict):
        raise row.refused(f"it is no mapping of format {FORMAT}; name a file that `sm-ops pii mask --mapping` wrote")
