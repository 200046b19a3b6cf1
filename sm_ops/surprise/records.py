"""Records as a path or as objects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sm_ops.core.records import Record
from sm_ops.data.records import read_records

Records = str | Path | Iterable[Record]


def read(records: Records) -> list[Record]:
    """The records of a file, or those given."""
    return list(read_records(records) if isinstance(records, str | Path) else records)
