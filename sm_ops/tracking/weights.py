"""Send the weights that a run trained, when somebody asks for it: elsewhere only their digests go.

A model may hold what it learned, so whoever may read the experiment may then extract it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.core.store import Store
from sm_ops.tracking import lineage
from sm_ops.tracking.experiment import SENT
from sm_ops.tracking.server import CONDITION_TAG, connected
from sm_ops.tracking.spool import mlflow_run_of

LIMIT = 50_000_000
"""Bytes of the largest model that is sent: larger ones stay pointers."""


@dataclass(frozen=True)
class Weights:
    """A trained model of a run: the row that it belongs to, what tells it apart there, where it lies, its bytes."""

    row: str
    label: str
    path: Path
    bytes: int

    def __str__(self) -> str:
        return f"{self.row}/{self.label}"


def send_weights(run: Run, home: Path) -> tuple[list[Weights], list[Weights]]:
    """Send each model of at most `LIMIT` bytes into its row's run, below `weights/LABEL`: those sent, those too large.

    Again sends the same again. `InputError` where the run was not tracked yet, or the server does not take it.
    """
    parent = mlflow_run_of(run, home)
    if parent is None:
        hint = f"The tracking server does not have run {run.id} yet; send it first with: sm-ops track push"
        raise InputError("not-tracked", hint)
    every = list(_weights(run, home))
    small = [each for each in every if each.bytes <= LIMIT]
    with connected(home, f"The weights of run {run.id} were not all sent", f"sm-ops track weights {run.id}") as client:
        experiment = client.get_run(parent).info.experiment_id
        below = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'")
        rows = {child.data.tags[CONDITION_TAG]: child.info.run_id for child in below}
        for each in small:
            client.log_artifact(rows[each.row], str(each.path), f"weights/{each.label}")
    return small, [each for each in every if each not in small]


def _weights(run: Run, home: Path) -> Iterator[Weights]:
    """Only what a training left as its model: no other restricted output has a way out."""
    for child in SENT[run.flow].children(fs.read_json(run.folder / "results.json")):
        for label, step in child.trained.items():
            record = lineage.find_record(run, home, step)
            if record is not None and lineage.MODEL in record.outputs:
                path = Store(home).output_path(record, lineage.MODEL)
                files = record.outputs[lineage.MODEL].files.values()
                yield Weights(child.name, label, path, sum(file["size"] for file in files))
