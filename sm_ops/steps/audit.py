"""audit: prove that the splits share nothing they must not; a finding stops the run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import StageError
from sm_ops.data.audit import audit
from sm_ops.data.dataset import Dataset
from sm_ops.data.records import read_records
from sm_ops.steps._canaries import read_canaries

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers

SPLITS = ("calibration", "train", "utility", "reference")


def run(settings: Settings, context: Context) -> Numbers:
    """Write the findings (none), or raise a `StageError` that names the first and how many there are."""
    splits = {split: list(read_records(context.inputs[split])) for split in SPLITS}
    dataset = Dataset(splits, read_canaries(context.inputs["canaries"]), {})
    public = list(read_records(context.inputs["public"]))
    findings = audit(dataset, public)
    if findings:
        raise StageError("audit-failed", f"The data's splits are not apart: {findings[0]} ({len(findings)} findings).")
    fs.write_json(context.outputs["findings.json"], [asdict(finding) for finding in findings])
    return {"findings": len(findings), "records": sum(map(len, splits.values()))}
