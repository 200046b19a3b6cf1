"""detect: what a detector finds in the records of both labelled splits, as levels of characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sm_ops.detectors.batches import detect_rows, own_threshold
from sm_ops.sanitizing import levels
from sm_ops.steps._splits import split_rows

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write a file of levels a split; count records, and the intervals that were found."""
    detector, given = settings.detection.detector, settings.detection.settings.plain()
    source = levels.Filter(detector, "detector", own_threshold(detector, given))
    counts = {"records": 0, "spans": 0}

    def rows(split: str) -> Iterator[levels.Row]:
        for record, detections in detect_rows(detector, given, split_rows(context.inputs[split])):
            counts["records"] += 1
            counts["spans"] += len(detections)
            yield levels.of_detections(record.id, detections)

    for split in ("calibration", "train"):
        levels.write(context.outputs[split], source, rows(split))
    return {**counts}
