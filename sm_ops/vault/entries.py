"""What a dataset holds: mappings by record id, and known values. Written and read as streams.

An entry is two lengths (4 bytes each, little endian) and two UTF-8 texts: record id and JSON `[digest, mapping]`, or
type and value.
The index has, for each record, a keyed 64-bit hash of its id and its position: 16 bytes a record, sorted by hash.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.vault.segment import Owner, Segment, SegmentReader, SegmentWriter

RECORDS, INDEX, VALUES = "records", "index", "values"
_TOKEN = re.compile(r"\[([A-Z]+)_[1-9][0-9]*\]")
_LENGTHS = 8
_LONGEST = (1 << 32) - 1


class MappingWriter:
    """Takes the mapping of one record after another; needs some 30 bytes of memory for each."""

    def __init__(self, folder: Path, owner: Owner) -> None:
        self._folder, self._owner = folder, owner
        self._out = SegmentWriter(folder, owner, RECORDS)
        self._index = _GrowingIndex(self._out.segment.key)

    @property
    def count(self) -> int:
        """Records so far."""
        return len(self._index)

    def add(self, record_id: str, mapping: Mapping[str, str], digest: str = "") -> None:
        """Store a record's mapping from tokens (`[TYPE_n]`) to spellings, and a digest of what it belongs to.

        Raises `InputError`, which tells the record by its number from 0, for a record id that was added before and for
        a mapping that is none.
        """
        if not isinstance(record_id, str):
            raise InputError("record-id", f"Record {self.count}: its id is no text.")
        for token, spelling in mapping.items():
            if not (isinstance(token, str) and _TOKEN.fullmatch(token) and isinstance(spelling, str)):
                hint = f"Record {self.count}: its mapping is not from tokens such as [PERSON_1] to texts."
                raise InputError("mapping", hint)
        key = _encode(record_id)
        if not self._index.add(key, self._out.size):
            hint = f"Record {self.count} has the id of an earlier one; ids of a dataset are distinct."
            raise InputError("duplicate-record", hint)
        text = json.dumps([digest, dict(mapping)], ensure_ascii=False, separators=(",", ":"))
        self._out.write(_entry(key, _encode(text)))

    def finish(self) -> dict[str, Segment]:
        """Flush all to disk; the segments by role."""
        index = SegmentWriter(self._folder, self._owner, INDEX)
        try:
            for part in self._index.sorted():
                index.write(part)
            return {RECORDS: self._out.finish(), INDEX: index.finish()}
        finally:
            index.close()

    def close(self) -> None:
        """Let go of the file, finished or not."""
        self._out.close()


class Mappings:
    """The mappings of a dataset, in the order in which they were written, or by record id.

    `get` is quickest in stored order, where it reads on from the record before; elsewhere it needs the index, which
    takes 16 bytes of memory a record.
    """

    def __init__(self, records: SegmentReader, index: SegmentReader, owner: Owner) -> None:
        self._records, self._index_file, self._owner = records, index, owner
        self._count = index.segment.size // 16
        self._next = 0
        self._index: memoryview | None = None

    def __len__(self) -> int:
        return self._count

    def __enter__(self) -> Mappings:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, record_id: str) -> dict[str, str]:
        """The mapping of one record; `InputError` for an id that the dataset does not have."""
        return self.get_with_digest(record_id)[0]

    def get_with_digest(self, record_id: str) -> tuple[dict[str, str], str]:
        """The mapping of one record, and the digest stored with it (empty without one); `InputError` as for `get`."""
        key = _encode(record_id)
        if self._next < self._records.segment.size and _key_at(self._records, self._next) == key:
            offset = self._next
        elif (found := self._find(key)) is not None:
            offset = found
        else:
            hint = f"Dataset {self._owner.dataset!r} of the vault has no record of that id; is it the right dataset?"
            raise InputError("unknown-record", hint)
        _, text, self._next = _entry_at(self._records, offset)
        digest, mapping = json.loads(text)
        return mapping, digest

    def items(self) -> Iterator[tuple[str, dict[str, str]]]:
        """`(record id, mapping)` in stored order."""
        for record_id, mapping, _ in self.entries():
            yield record_id, mapping

    def entries(self) -> Iterator[tuple[str, dict[str, str], str]]:
        """`(record id, mapping, digest)` in stored order: what `MappingWriter.add` was given."""
        for key, text, _ in _entries(self._records):
            digest, mapping = json.loads(text)
            yield _decode(key), mapping, digest

    def verify(self) -> None:
        """Read all, and compare the index with the records; `InputError` where anything is not as it was written."""
        found = 0
        for key, _, offset in _entries(self._records):
            found += 1
            if self._find(key) != offset:
                raise self._owner.damaged("its index and its records differ")
        if found != self._count:
            raise self._owner.damaged("its index and its records differ")

    def close(self) -> None:
        """Let go of the files."""
        self._records.close()
        self._index_file.close()

    def _find(self, key: bytes) -> int | None:
        """Where a record stands, by the index."""
        if self._index is None:
            self._index = memoryview(self._index_file.whole()).cast("Q")
        wanted = _hash(key, self._records.segment.key)
        place = bisect_left(self._index, wanted, 0, self._count)
        while place < self._count and self._index[place] == wanted:
            offset = self._index[self._count + place]
            if _key_at(self._records, offset) == key:
                return offset
            place += 1
        return None


def write_values(folder: Path, owner: Owner, pairs: Iterable[tuple[str, str]]) -> Segment:
    """Write known values, `(type, value)`, as one segment."""
    out = SegmentWriter(folder, owner, VALUES)
    try:
        for kind, value in pairs:
            out.write(_entry(_encode(kind), _encode(value)))
        return out.finish()
    finally:
        out.close()


def read_values(reader: SegmentReader) -> Iterator[tuple[str, str]]:
    """Known values in stored order."""
    for kind, value, _ in _entries(reader):
        yield _decode(kind), _decode(value)


def spellings(mappings: Mappings) -> Iterator[tuple[str, str]]:
    """`(type, spelling)` of all that stands in mappings; a type is its token's."""
    for _, mapping in mappings.items():
        for token, spelling in mapping.items():
            yield token[1 : token.rindex("_")], spelling


def distinct(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each pair once, in order; remembers 16 bytes of each."""
    seen: set[bytes] = set()
    for kind, value in pairs:
        mark = blake2b(_encode(f"{kind}\t{value}"), digest_size=16).digest()
        if mark not in seen:
            seen.add(mark)
            yield kind, value


class _GrowingIndex:
    """Hashes and positions in order of arrival, and an open-addressing table over them that finds a repeated hash."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._hashes, self._offsets = array("Q"), array("Q")
        self._grow(1024)

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, record: bytes, offset: int) -> bool:
        """Whether the record is new; among a million records, the chance that a new one looks old is 3e-8 in all."""
        value = _hash(record, self._key)
        slot = self._slot(value)
        if self._table[slot]:
            return False
        self._hashes.append(value)
        self._offsets.append(offset)
        self._table[slot] = len(self._hashes)
        if 3 * len(self._hashes) > 2 * len(self._table):
            self._grow(2 * len(self._table))
        return True

    def sorted(self) -> Iterator[bytes]:
        """The index as it is stored: all hashes, ascending, then their positions."""
        import numpy as np

        if not self._hashes:
            return
        hashes, offsets = np.frombuffer(self._hashes, np.uint64), np.frombuffer(self._offsets, np.uint64)
        order = np.argsort(hashes)
        for column in (hashes, offsets):
            for start in range(0, len(order), 1 << 16):
                yield column[order[start : start + (1 << 16)]].tobytes()

    def _slot(self, value: int) -> int:
        """The table's slot that holds the hash, or the free one where it would go."""
        table, mask = self._table, len(self._table) - 1
        slot = value & mask
        while (number := table[slot]) and self._hashes[number - 1] != value:
            slot = (slot + 1) & mask
        return slot

    def _grow(self, size: int) -> None:
        self._table = array("I", bytes(4 * size))
        for number, value in enumerate(self._hashes, start=1):
            self._table[self._slot(value)] = number


def _hash(record: bytes, key: bytes) -> int:
    return int.from_bytes(blake2b(record, digest_size=8, key=key).digest(), "little")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _entry(first: bytes, second: bytes) -> bytes:
    if max(len(first), len(second)) > _LONGEST:
        raise InputError("too-large", "A single record's mapping has more than 4 GiB; split the record.")
    return len(first).to_bytes(4, "little") + len(second).to_bytes(4, "little") + first + second


def _lengths(reader: SegmentReader, offset: int) -> tuple[int, int]:
    head = reader.read(offset, _LENGTHS)
    return int.from_bytes(head[:4], "little"), int.from_bytes(head[4:], "little")


def _key_at(reader: SegmentReader, offset: int) -> bytes:
    first, _ = _lengths(reader, offset)
    return reader.read(offset + _LENGTHS, first)


def _entry_at(reader: SegmentReader, offset: int) -> tuple[bytes, bytes, int]:
    """The two texts at a position, and the position after them."""
    first, second = _lengths(reader, offset)
    both = reader.read(offset + _LENGTHS, first + second)
    return both[:first], both[first:], offset + _LENGTHS + first + second


def _entries(reader: SegmentReader) -> Iterator[tuple[bytes, bytes, int]]:
    """All entries in order: the two texts, and the position at which they stand."""
    offset = 0
    while offset < reader.segment.size:
        first, second, after = _entry_at(reader, offset)
        yield first, second, offset
        offset = after
