"""Rows of a file by their id, with a few bytes of memory a row: predictions, mappings, and whether ids are distinct."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Callable
from hashlib import blake2b
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from sm_ops.pii.files import Json, Row, parsed, rows


class Index:
    """Which rows have which ids: 16 bytes a row, and as much again while they are sorted.

    Ids are told apart by 64-bit hashes under a random key: that any two of a million are mistaken for each other has
    a chance of 3e-8.
    """

    def __init__(self) -> None:
        self._key = os.urandom(16)
        self._hashes, self._places = array("Q"), array("Q")
        self._sorted: Any = None

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, identity: str, place: int) -> None:
        """Remember the next row."""
        self._hashes.append(self._hash(identity))
        self._places.append(place)

    def repeated(self) -> int | None:
        """The number of the first row whose id an earlier one has."""
        import numpy as np

        hashes = np.array(self._hashes, np.uint64)
        order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[order], order
        again = order[1:][self._sorted[0][1:] == self._sorted[0][:-1]]
        return int(again.min()) if len(again) else None

    def find(self, identity: str) -> int | None:
        """The place of the row with an id, once `repeated` was asked."""
        import numpy as np

        hashes, order = self._sorted
        wanted = np.uint64(self._hash(identity))
        at = int(np.searchsorted(hashes, wanted))
        return self._places[order[at]] if at < len(hashes) and hashes[at] == wanted else None

    def _hash(self, identity: str) -> int:
        text = identity.encode("utf-8", "surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=8, key=self._key).digest(), "little")


def table(path: Path, check: Callable[[Row], None]) -> Table:
    """A table over a file that is read once: `check` refuses rows; so is an id that is given twice."""
    index = Index()
    for row in rows(path):
        check(row)
        index.add(row.id, row.at)
    if (number := index.repeated()) is not None:
        raise row_of(path, number).refused("its id was given to an earlier record; keep one of them", "repeated-id")
    return Table(path, index)


def row_of(path: Path, number: int) -> Row:
    """The row with a number."""
    return next(islice(rows(path), number, None))


class Table:
    """A file whose rows are asked for by id; cheapest in the order of the file."""

    def __init__(self, path: Path, index: Index) -> None:
        """`index` holds `Row.at` of every row, and its ids are distinct."""
        self._path, self._index = path, index
        self._file: Any = None
        self._group: tuple[int, Any] = -1, None

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, identity: str) -> bool:
        return self._index.find(identity) is not None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def get(self, identity: str) -> Json | None:
        """The row of an id, or none."""
        at = self._index.find(identity)
        if at is None:
            return None
        row = self._from_parquet(at) if self._path.suffix == ".parquet" else self._from_lines(at)
        return row if row["id"] == identity else None

    def _from_lines(self, offset: int) -> Json:
        self._file = self._file or self._path.open("rb")
        self._file.seek(offset)
        return parsed(self._file.readline().decode("utf-8"), str(self._path))

    def _from_parquet(self, number: int) -> Json:
        import pyarrow.parquet as pq

        self._file = self._file or pq.ParquetFile(self._path)
        sizes = [self._file.metadata.row_group(i).num_rows for i in range(self._file.num_row_groups)]
        ends = list(accumulate(sizes))
        group = bisect_right(ends, number)
        if self._group[0] != group:
            self._group = group, self._file.read_row_group(group)
        return self._group[1].slice(number - (ends[group] - sizes[group]), 1).to_pylist()[0]
