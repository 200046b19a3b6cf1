"""What the two sides of a corpus have in common: groups, equal texts and near duplicates, as counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sm_ops.core.records import Record
from sm_ops.data.across import across

THRESHOLD = 0.8


def overlap(validation: Sequence[Record], application: Iterable[Record]) -> dict[str, int | float]:
    """Counts over the application side, which is read once and not kept: the audit of a split.

    `groups` (that both sides have), `records_of_shared_groups`, `equal_texts` (records whose text stands on the
    validation side), `near_duplicates` (others whose Jaccard index of 5-word shingles with a text there is at least
    `threshold`), and `records`, of how many. Sides without a common group can have equal texts, such as a sentence of
    two documents.
    """
    own = {record.group for record in validation if record.group is not None}
    shared: set[str] = set()
    records = of_shared = 0

    def read() -> Iterator[Record]:
        nonlocal records, of_shared
        for record in application:
            records += 1
            if record.group in own:
                of_shared += 1
                shared.add(record.group)
            yield record

    _, (equal, near) = across([validation, read()], THRESHOLD)
    return {
        "records": records,
        "groups": len(shared),
        "records_of_shared_groups": of_shared,
        "equal_texts": equal,
        "near_duplicates": near,
        "threshold": THRESHOLD,
    }
