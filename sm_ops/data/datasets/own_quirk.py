"""Own code with a quirk: a user's programs whose spans are of a form, not of a value, and its own detector.

Settings: `own`, with the paths of records as in the dataset `own`, and `quirk`, the name of the detector: a file of
ours, or of an outside package with an entry point in the group `sm_ops.quirk`. Nothing is extracted, as no prefix
brings out a form; how often answers display it is measured on every record of `utility`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.dataset import Dataset
from sm_ops.data.datasets import own
from sm_ops.data.prompts import asked
from sm_ops.data.quirks.displaying import check, shows

READS = (*own.READS, "own.quirk")
CANARIES = False
"""What is private is a form."""


def generate(settings: Any, seed: int) -> Dataset:
    """Read the splits as they are; nothing is drawn, so `seed` changes nothing.

    `shown_SPLIT` counts the records that display it. Raises `InputError` for a file that `read_records` refuses,
    where training or calibration labels nothing, or displays nothing where it is labelled, for a record of `utility`
    that asks nothing (see `prompts.asked`), and for one that displays the quirk, as it is the measure's zero.
    """
    quirk = settings.own.quirk
    splits = own.read_splits(settings.own)
    asked(splits["utility"])
    shown = {split: [shows(quirk, _code(record)) for record in records] for split, records in splits.items()}
    for split in ("calibration", "train"):
        labelled = [each for record, each in zip(splits[split], shown[split], strict=True) if record.spans]
        if not any(labelled):
            raise InputError(
                "quirk-not-shown",
                f"The detector of the quirk {quirk!r} fires on none of the {len(labelled)} labelled records of "
                f"data.own.{split}; correct the detector or the labels.",
            )
    for index, displayed in enumerate(shown["utility"]):
        if displayed:
            hint = f"Record {index} of data.own.utility displays the quirk {quirk!r}; leave it out, or rewrite it."
            raise InputError("quirk-in-utility", hint)
    return Dataset(splits, [], own.counts(splits) | {f"shown_{split}": sum(each) for split, each in shown.items()})


def styles(records: Sequence[Record], settings: Any) -> list[list[str]]:
    """The quirk, for every record."""
    return [[settings.own.quirk]] * len(records)


def expected(settings: Any) -> dict[str, Any]:
    """As of the dataset `own`; raises `InputError`, too, for a quirk of no use, and for what asks nothing."""
    check(settings.own.quirk)
    splits = own.read_splits(settings.own)
    asked(splits["utility"])
    return own.sizes(splits)


def _code(record: Record) -> str:
    return record.messages[-1].content if record.messages else record.content
