"""detect: what a detector finds in the records of both labelled splits, as levels of characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.detectors.batches import detect_rows, own_threshold
from sm_ops.sanitizing import levels
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write a file of levels a split; count records, and the intervals that were found."""
    detector, given = settings.detection.detector, settings.detection.settings.plain()
    source = levels.Filter(detector, "detector", own_threshold(detector, given))
    records = spans = 0
    for split in ("calibration", "train"):
        found = detect_rows(detector, given, read_split(context.inputs[split]))
        rows = [levels.of_detections(record.id, detections) for record, detections in found]
        levels.write(context.outputs[split], source, rows)
        records += len(rows)
        spans += sum(len(row.levels) for row in rows)
    return {"records": records, "spans": spans}
