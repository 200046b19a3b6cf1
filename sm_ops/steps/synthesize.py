"""synthesize: generate or read the labelled splits, the canaries, and public code that shares nothing with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import registry
from sm_ops.data.audit import containing, private_values
from sm_ops.data.dataset import SPLITS, Dataset
from sm_ops.data.datasets.code_pii import public_code
from sm_ops.data.records import write_records
from sm_ops.steps._splits import write_canaries

if TYPE_CHECKING:
    from sm_ops.core.records import Record
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the four splits, the public code and the canaries; count what was made and left out."""
    data = settings.data
    dataset = registry.load("dataset", data.dataset).generate(data, data.seed)
    public, left_out = _public(data, dataset)
    for split in SPLITS:
        write_records(context.outputs[split], dataset.splits.get(split, []))
    write_records(context.outputs["public"], public)
    write_canaries(context.outputs["canaries"], dataset.canaries)
    return {
        "public_chars": sum(len(record.content) for record in public),
        "public_left_out": left_out,
        **dataset.counts,
    }


def _public(data: Settings, dataset: Dataset) -> tuple[list[Record], int]:
    """Public code without the modules in which a labelled value occurs, and how many those were.

    A user's own value can be a common word; a model that met it in public code would know it beforehand. Where nothing
    is to be extracted, labels are of a form, which any code may have.
    """
    values = private_values(dataset.records) if dataset.canaries else set()
    holding: set[str] = set()
    while True:
        public = public_code(data, data.seed, data.public_chars, dataset.host_files | holding, dataset.shapes)
        found = set(containing(values, [(record.meta["host"], record.content) for record in public]))
        if not found:
            return public, len(holding)
        holding |= found
