"""redact: the training text without what an operating point masks and without every annotated span."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.data.records import read_records, write_records
from sm_ops.masking import mask_files
from sm_ops.masking.redact import PLACEHOLDER, redact
from sm_ops.masking.redaction import Counts, union

if TYPE_CHECKING:
    from sm_ops.core.records import Record
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the redacted records, of which `id` and text alone are kept; what was removed where; counts of it."""
    point = settings.redact.point
    rows = [row for row in mask_files.read(context.inputs["masks"]) if row.condition == point]
    masked = {row.id: list(zip(row.starts, row.ends, strict=True)) for row in rows}
    counts, alone = Counts(), Counts()
    with context.outputs["places"].open("w", encoding="utf-8") as places:

        def redacted() -> Iterator[Record]:
            for record in read_records(context.inputs["train"]):
                removed = union(record, masked[record.id])
                places.write(json.dumps({"id": record.id, "intervals": removed}, ensure_ascii=False) + "\n")
                counts.add(record, removed)
                alone.add(record, masked[record.id])
                yield replace(redact(record, removed), group=None, spans=(), meta={})

        write_records(context.outputs["redacted"], redacted())
    told = {"placeholder": PLACEHOLDER, "point": point, **counts.told(), "spans_by_point": alone.coverage}
    fs.write_json(context.outputs["redaction"], told)
    return {
        "records": counts.records,
        "intervals": counts.intervals,
        "removed_chars": counts.removed,
        "spans": sum(counts.spans.values()),
        "spans_covered": sum(counts.covered.values()),
    }
