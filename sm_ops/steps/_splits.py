"""Read what `synthesize` wrote: splits of records, which may be empty, and the canaries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.dataset import Canary
from sm_ops.data.records import read_records


def split_rows(path: Path) -> Iterator[Record]:
    """The records of a split, one after the other; a split that the data does not have is an empty file."""
    if path.stat().st_size:
        yield from read_records(path)


def read_split(path: Path) -> list[Record]:
    """All records of a split."""
    return list(split_rows(path))


def read_canaries(path: Path) -> list[Canary]:
    """The canaries in the order of their numbers."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Canary(row["id"], row["kind"], row["group"], Sensitive(row["value"])) for row in rows]
