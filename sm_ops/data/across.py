"""Records that stand in several parts of a data set: splits that are meant to have nothing in common."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np

from sm_ops.core.records import Record
from sm_ops.data.minhash import Bands, are_near, compared, shingles


def across(parts: Sequence[Iterable[Record]], threshold: float = 0.8, shingle: int = 5) -> list[tuple[int, int]]:
    """For each part, how many of its records are in an earlier part again: with equal text, and else nearly so.

    Equal and near are as in `sm_ops.data.deduplicate`. Parts are read as streams, one after another; of each but the
    last some 400 bytes and 8 bytes a shingle are kept for each record, so the largest goes last.
    """
    bands, counts = Bands(threshold), []
    texts: set[bytes] = set()
    earlier: list[_Part] = []
    for number, part in enumerate(parts):
        exact = near = 0
        own, own_texts = _Part(), set[bytes]()
        for record in part:
            text = compared(record)
            digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
            if digest in texts:
                exact += 1
                continue
            found = shingles(text, shingle)
            marks = _marks(bands.of(found))
            near += any(other.has_near(found, marks, threshold) for other in earlier)
            if number + 1 < len(parts) and digest not in own_texts:
                own_texts.add(digest)
                own.add(found, marks)
        texts |= own_texts
        earlier.append(own.sorted())
        counts.append((exact, near))
    return counts


def _marks(bands: Iterable[tuple[int, bytes]]) -> bytes:
    """A 64-bit hash of each band."""
    return b"".join(hashlib.blake2b(band, digest_size=8).digest() for _, band in bands)


class _Part:
    """The records of one part: their shingles one after another, and for each band the records by its hash."""

    def __init__(self) -> None:
        self._shingles, self._ends = array("Q"), array("Q", [0])
        self._marks = array("Q")
        self._columns: list[tuple[memoryview, memoryview]] = []

    def add(self, shingles: np.ndarray, marks: bytes) -> None:
        """Keep a record."""
        self._shingles.frombytes(shingles.tobytes())
        self._ends.append(len(self._shingles))
        self._marks.frombytes(marks)

    def sorted(self) -> _Part:
        """Make ready to be asked."""
        if len(self._ends) > 1:
            for column in np.frombuffer(self._marks, np.uint64).reshape(len(self._ends) - 1, -1).T:
                order = np.argsort(column, kind="stable").astype(np.uint32)
                self._columns.append((column[order].data, order.data))
        self._marks = array("Q")
        return self

    def has_near(self, shingles: np.ndarray, marks: bytes, threshold: float) -> bool:
        """Whether a record here has at least this Jaccard index with another one."""
        proposed: set[int] = set()
        for mark, (column, order) in zip(memoryview(marks).cast("Q"), self._columns, strict=False):
            at = bisect_left(column, mark)
            while at < len(column) and column[at] == mark:
                proposed.add(order[at])
                at += 1
        return any(are_near(shingles, self._of(record), threshold) for record in proposed)

    def _of(self, record: int) -> np.ndarray:
        start, end = self._ends[record], self._ends[record + 1]
        return np.frombuffer(self._shingles, np.uint64)[start:end]
