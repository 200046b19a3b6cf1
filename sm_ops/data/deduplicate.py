"""De-duplication before training: of records that are equal or nearly so, the first stays.

Equal are records of one text in NFC with runs of blanks as one space (in chats also of the same roles); letter case
counts. Near duplicates share most of their shingles, the sets of n words in a row of that text (a shorter text is one
shingle): their Jaccard index is at least a threshold. They are sought by MinHash signatures in bands (Broder, 1997;
Leskovec, Rajaraman and Ullman, chapter 3), and what a band proposes is counted exactly, so nothing is left out that is
not near. A near pair is missed with a probability below one in 10,000.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record

HASHES = 128
"""Length of a signature."""
MISSED = 1e-4
"""How likely a pair at the threshold may be missed."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Deduplicated:
    """What stays, in order; ids of what was left out, with the id of the record that stays for it; and counts."""

    records: list[Record]
    exact: dict[str, str]
    near: dict[str, str]

    @property
    def counts(self) -> dict[str, int]:
        """Records given, exact and near duplicates left out, records that stay."""
        kept, exact, near = len(self.records), len(self.exact), len(self.near)
        return {
            "records": kept + exact + near,
            "exact_duplicates": exact,
            "near_duplicates": near,
            "records_kept": kept,
        }


def deduplicate(records: Sequence[Record], threshold: float | None = 0.8, shingle: int = 5) -> Deduplicated:
    """Leave out each record that is a duplicate of an earlier one that stays.

    In order: a record stays unless its text is that of an earlier record, or its Jaccard index with a record that
    stays is at least `threshold` (0.1 to 1; None: only equal texts are left out). So every record that is left out has
    a near one among those that stay, and no two of those are near. Where several are near, the first of them is named.
    The same records in the same order give the same answer on every machine.

    Raises `InputError` for another threshold.
    """
    if threshold is not None and not 0.1 <= threshold <= 1:
        hint = f"A Jaccard threshold of {threshold:g} finds no near duplicates reliably; choose one from 0.1 to 1."
        raise InputError("bad-threshold", hint)
    first: dict[str, int] = {}
    exact: dict[str, str] = {}
    near: dict[str, str] = {}
    kept: list[int] = []
    stays: dict[int, int] = {}  # a distinct text's first record -> the record that stays for it
    finder = None if threshold is None else _Finder(threshold)
    for number, record in enumerate(records):
        text = _compared(record)
        earlier = first.setdefault(text, number)
        if earlier < number:
            exact[record.id] = records[stays[earlier]].id
            continue
        found = finder.nearest(_shingles(text, shingle), number) if finder else None
        stays[number] = number if found is None else found
        if found is None:
            kept.append(number)
        else:
            near[record.id] = records[found].id
    return Deduplicated([records[number] for number in kept], exact, near)


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Shared members over all members of two sets, as sorted arrays without repetition; 1 for two empty ones."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    union = len(one) + len(other) - shared
    return shared / union if union else 1.0


def _compared(record: Record) -> str:
    if record.messages is None:
        return " ".join(unicodedata.normalize("NFC", record.text or "").split())
    turns = [f"{each.role} {' '.join(unicodedata.normalize('NFC', each.content).split())}" for each in record.messages]
    return "\n".join(turns)


def _shingles(text: str, size: int) -> np.ndarray:
    """The distinct shingles as sorted 64-bit hashes."""
    words = text.split()
    last = max(len(words) - size, 0)
    found = {" ".join(words[start : start + size]) for start in range(last + 1)} if words else set()
    digests = b"".join(hashlib.blake2b(each.encode(), digest_size=8).digest() for each in found)
    return np.sort(np.frombuffer(digests, "<u8"))


class _Finder:
    """The shingles of the records that stay, by the bands of their signatures."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._rows = _rows(threshold)
        generator = np.random.default_rng(0)
        self._factors = generator.integers(0, 2**63, HASHES, np.uint64) * np.uint64(2) + np.uint64(1)
        self._terms = generator.integers(0, 2**64, HASHES, np.uint64)
        self._members: dict[int, np.ndarray] = {}
        self._buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)

    def nearest(self, shingles: np.ndarray, number: int) -> int | None:
        """The first record that stays and is near this one; without any, this one stays as `number`."""
        bands = self._bands(shingles)
        proposed = sorted({other for band in bands for other in self._buckets.get(band, ())})
        for other in proposed:
            if self._near(shingles, self._members[other]):
                return other
        self._members[number] = shingles
        for band in bands:
            self._buckets[band].append(number)
        return None

    def _near(self, one: np.ndarray, other: np.ndarray) -> bool:
        few, many = sorted((len(one), len(other)))
        return many == 0 or (few / many >= self._threshold and jaccard(one, other) >= self._threshold)

    def _bands(self, shingles: np.ndarray) -> list[tuple[int, bytes]]:
        signature = np.full(HASHES, np.iinfo(np.uint64).max)
        for start in range(0, len(shingles), 4096):
            part = shingles[start : start + 4096, None]
            mixed = part * self._factors + self._terms
            mixed ^= mixed >> np.uint64(29)
            mixed *= _GOLDEN
            np.minimum(signature, mixed.min(0), out=signature)
        return [
            (start, signature[start : start + self._rows].tobytes())
            for start in range(0, HASHES - self._rows + 1, self._rows)
        ]


def _rows(threshold: float) -> int:
    """The longest bands, which propose fewest others, that miss few enough pairs at the threshold."""
    fitting = [rows for rows in range(1, HASHES + 1) if (1 - threshold**rows) ** (HASHES // rows) <= MISSED]
    return max(fitting, default=1)
