"""audit: prove that the splits share nothing they must not; a finding stops the run."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import StageError
from sm_ops.data import audit
from sm_ops.data.dataset import SPLITS, Dataset
from sm_ops.steps._splits import read_canaries, read_split

if TYPE_CHECKING:
    from sm_ops.core.records import Record
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the findings (none), or raise a `StageError` that names the first and how many there are."""
    splits = {split: read_split(context.inputs[split]) for split in SPLITS}
    dataset = Dataset(splits, read_canaries(context.inputs["canaries"]), {})
    findings = _findings(dataset, read_split(context.inputs["public"]))
    if findings:
        more = f"; and {len(findings) - 1} more findings" if len(findings) > 1 else ""
        raise StageError("audit-failed", f"{findings[0].sentence}{more}; change or leave out these records.")
    fs.write_json(context.outputs["findings"], [asdict(finding) for finding in findings])
    return {"findings": len(findings), "records": sum(map(len, splits.values()))}


def _findings(dataset: Dataset, public: list[Record]) -> list[audit.Finding]:
    if any("quirk" in record.meta for record in dataset.splits["train"]):
        from sm_ops.data.quirks import audit as quirks

        return quirks.audit(dataset, public)
    return audit.audit(dataset, public)
