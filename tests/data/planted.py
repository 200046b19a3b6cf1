"""Settings of small planted sets, and what is read off their records."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

from sm_ops.core.records import Record


def settings(hosts, **changes):
    base = {
        "hosts": str(hosts), "identities": 3, "repetitions": 4, "clean": 10, "calibration_identities": 2,
        "calibration_repetitions": 2, "calibration_clean": 6, "utility": 9, "reference": 7, "form": "text",
        "min_chars": 100, "max_chars": 900, "values_per_program": 1,
    }  # fmt: skip
    return SimpleNamespace(**base | changes)


def places_of(records: list[Record]) -> Counter[str]:
    return Counter(place for record in records for place in record.meta["places"])


def program(record: Record) -> str:
    return record.text if record.messages is None else record.messages[1].content  # type: ignore[return-value]
