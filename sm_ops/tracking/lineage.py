"""Where a run's numbers come from: data sets, revisions and models, by digest. No data and no place goes along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core.history import History, read_history
from sm_ops.core.home import Run
from sm_ops.core.store import Record, Store
from sm_ops.tracking.sent import Json

if TYPE_CHECKING:
    from mlflow.entities import DatasetInput

MODEL = "model"
HISTORY = "history.json"
GIT_TAG = "sm_ops.git"
DATA_TAG = "sm_ops.data"
_MLFLOWS_COMMIT = "mlflow.source.git.commit"


def inputs(run: Run, home: Path, step: str, names: tuple[str, ...]) -> list[DatasetInput]:
    """Data sets by our digest of their content."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    record = find_record(run, home, step)
    if record is None:
        return []
    found = []
    for output, stored in record.outputs.items():
        name = output.rpartition(".")[0]
        if name in names:
            source = json.dumps({"step": record.step, "output": output})
            dataset = Dataset(f"{record.step}/{name}", stored.sha256[:32], "sm-ops", source)
            found.append(DatasetInput(dataset, [InputTag("mlflow.data.context", name)]))
    return found


def revisions(run: Run) -> dict[str, str]:
    """Tags that name the commits of code and data which belong to the run, as far as they are known."""
    links = run.links()
    tags = {GIT_TAG: links["git"], _MLFLOWS_COMMIT: links["git"], DATA_TAG: links["data"]}
    return {name: value for name, value in tags.items() if value is not None}


def pointers(run: Run, home: Path, trained: dict[str, str]) -> list[Json]:
    """The models that a row measured, by digest: the weights themselves stay in the home, as they may hold data."""
    found = []
    for label, step in trained.items():
        record = find_record(run, home, step)
        if record is not None and MODEL in record.outputs:
            stored = record.outputs[MODEL]
            files = {name: {"sha256": file["sha256"], "bytes": file["size"]} for name, file in stored.files.items()}
            found.append(
                {
                    "model": label,
                    "step": record.step,
                    "fingerprint": record.fingerprint,
                    "class": stored.cls,
                    "sha256": stored.sha256,
                    "bytes": sum(file["bytes"] for file in files.values()),
                    "files": files,
                }
            )
    return found


def histories(run: Run, home: Path, trained: dict[str, str]) -> dict[str, History]:
    """The curves of the trainings that left some, by what tells the trainings apart."""
    found = {}
    for label, step in trained.items():
        record = find_record(run, home, step)
        if record is not None and HISTORY in record.outputs:
            found[label] = read_history(Store(home).output_path(record, HISTORY))
    return found


def find_record(run: Run, home: Path, step: str) -> Record | None:
    """The stored record of a run's step, or None."""
    known = run.steps.get(step)
    return Store(home).find(known["stage"], known["fingerprint"]) if known else None
