"""What `synthesize` leaves: splits of records, which may be empty, and the canaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.dataset import Canary
from sm_ops.data.records import read_records
from sm_ops.steps._documents import read_rows, write_rows


def split_rows(path: Path) -> Iterator[Record]:
    """The records of a split, one after the other; a split that the data does not have is an empty file."""
    if path.stat().st_size:
        yield from read_records(path)


def read_split(path: Path) -> list[Record]:
    """All records of a split."""
    return list(split_rows(path))


def read_canaries(path: Path) -> list[Canary]:
    """The canaries in the order of their numbers."""
    return [Canary(row["id"], row["kind"], row["group"], Sensitive(row["value"])) for row in read_rows(path)]


def write_canaries(path: Path, canaries: Iterable[Canary]) -> None:
    """Write what `read_canaries` reads."""
    write_rows(path, ({"id": c.id, "kind": c.kind, "group": c.group, "value": c.value.reveal()} for c in canaries))
