"""san_tune: a token classifier trained on the validation side, cross-fitted over its groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core.records import Record
from sm_ops.data.records import read_records
from sm_ops.detectors.classifier.fitting import fit
from sm_ops.sanitizing import crossfit

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Train the classifier on all records, and once for each part without those of the part."""
    own = settings.filter.settings.plain()

    def make(records: Sequence[Record], folder: Path) -> None:
        fit(records, folder, own)

    records = list(read_records(context.inputs["validation"]))
    return {"records": len(records), "parts": crossfit.fit(records, context.outputs["model"], make)}
