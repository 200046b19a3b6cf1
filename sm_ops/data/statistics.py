"""What labelled records hold, class by class: the table of data sets in the leakage paper (app. A, tab. 7)."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from sm_ops.core.records import Record

ALL = "all"


def statistics(records: Iterable[Record]) -> list[dict[str, Any]]:
    """A row for all classes together, then one for each, by name.

    `records`, `mentions` (labelled places with a visible character), `distinct` (strings that differ after NFC and
    without outer whitespace, case kept, within a class: OP-52), `duplication` (mentions for one distinct string; None
    without any) and `records_with_mention`.
    """
    count = 0
    values: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    holders: Counter[str] = Counter()
    for record in records:
        count += 1
        content = record.content
        texts = ((label, unicodedata.normalize("NFC", content[a:b]).strip()) for a, b, label in record.content_spans)
        found = [(label, value) for label, value in texts if value]
        for label, value in found:
            values[ALL][label, value] += 1
            values[label][label, value] += 1
        holders.update({label for label, _ in found} | ({ALL} if found else set()))
    return [_row(label, count, values[label], holders[label]) for label in (ALL, *sorted(values.keys() - {ALL}))]


def _row(label: str, records: int, values: Counter[tuple[str, str]], holders: int) -> dict[str, Any]:
    mentions = values.total()
    return {
        "class": label,
        "records": records,
        "mentions": mentions,
        "distinct": len(values),
        "duplication": mentions / len(values) if values else None,
        "records_with_mention": holders,
    }
