"""Own: a user's labelled records, one file a split, through the same door as every other dataset.

Settings: `own`, with the paths of records `train`, `calibration` (required), `utility` and `reference` (optional).
What the training file labels are the canaries.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.dataset import SPLITS, Canary, Dataset
from sm_ops.data.records import read_records

READS = ("own.train", "own.calibration", "own.utility", "own.reference")


def generate(settings: Any, seed: int) -> Dataset:
    """Read the splits as they are; nothing is drawn, so `seed` changes nothing.

    Raises `InputError` as `read_splits` does.
    """
    splits = read_splits(settings.own)
    canaries = _canaries(splits["train"])
    return Dataset(splits, canaries, counts(splits) | {"canaries": len(canaries)})


def expected(settings: Any) -> dict[str, Any]:
    """`records` by split and `train_chars`, read from the files; raises `InputError` as `read_splits` does."""
    return sizes(read_splits(settings.own))


def read_splits(own: Any) -> dict[str, list[Record]]:
    """The records of each file that is named.

    Raises `InputError` for a file that `read_records` refuses, and where training or calibration labels nothing.
    """
    paths = {split: getattr(own, split) for split in SPLITS}
    splits = {split: list(read_records(path)) for split, path in paths.items() if path is not None}
    for split in ("calibration", "train"):
        if not any(record.spans for record in splits[split]):
            raise InputError(
                "no-spans",
                f"{paths[split]} (data.own.{split}) has no spans; label what is private, or there is nothing to mask.",
            )
    return splits


def sizes(splits: dict[str, list[Record]]) -> dict[str, Any]:
    """How many records each split has, and the characters of the training split."""
    characters = sum(len(record.content) for record in splits["train"])
    return {"records": {split: len(records) for split, records in splits.items()}, "train_chars": characters}


def counts(splits: dict[str, list[Record]]) -> dict[str, int]:
    """How many records each split has, and how many with a span."""
    found = {f"records_{split}": len(records) for split, records in splits.items()}
    return found | {f"private_{split}": sum(bool(r.spans) for r in records) for split, records in splits.items()}


def _canaries(records: list[Record]) -> list[Canary]:
    """One canary for each distinct labelled text of a group and label, numbered by label as they appear."""
    found: dict[tuple[str | None, str, str], Canary] = {}
    numbers: Counter[str] = Counter()
    for record in records:
        content = record.content
        for start, end, label in record.content_spans:
            key = (record.group, label, content[start:end])
            if key not in found:
                numbers[label] += 1
                found[key] = Canary(f"{label}-{numbers[label]:02d}", label, record.group, Sensitive(key[2]))
    return list(found.values())
