"""De-duplication before training: of records that are equal or nearly so, the first stays.

Equal are records of one text in NFC with runs of blanks as one space (in chats also of the same roles); letter case
counts. Near duplicates share most of their shingles, the sets of n words in a row of that text (a shorter text is one
shingle): their Jaccard index is at least a threshold. They are sought by MinHash signatures in bands (Broder, 1997;
Leskovec, Rajaraman and Ullman, chapter 3), and what a band proposes is counted exactly, so nothing is left out that is
not near. A near pair is missed with a probability below one in 10,000.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.minhash import Bands, are_near, compared, shingles


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
        text = compared(record)
        earlier = first.setdefault(text, number)
        if earlier < number:
            exact[record.id] = records[stays[earlier]].id
            continue
        found = finder.nearest(shingles(text, shingle), number) if finder else None
        stays[number] = number if found is None else found
        if found is None:
            kept.append(number)
        else:
            near[record.id] = records[found].id
    return Deduplicated([records[number] for number in kept], exact, near)


class _Finder:
    """The shingles of the records that stay, by the bands of their signatures."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._bands = Bands(threshold)
        self._members: dict[int, np.ndarray] = {}
        self._buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)

    def nearest(self, shingles: np.ndarray, number: int) -> int | None:
        """The first record that stays and is near this one; without any, this one stays as `number`."""
        bands = self._bands.of(shingles)
        proposed = sorted({other for band in bands for other in self._buckets.get(band, ())})
        for other in proposed:
            if are_near(shingles, self._members[other], self._threshold):
                return other
        self._members[number] = shingles
        for band in bands:
            self._buckets[band].append(number)
        return None
