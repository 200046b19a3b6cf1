"""Send a run to MLflow: one parent run, and below it one run per row of its table.

What is sent is chosen by name, in one module a flow: settings that are plain scalars, numbers with their intervals,
digests of data sets and models, and the public files of the run's folder. Settings that name files or folders stay at
home.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core import fs, usage
from sm_ops.core.home import Run, all_runs
from sm_ops.tracking import allowed, lineage, notes, numbers
from sm_ops.tracking.experiment import SENT, comparison, find_experiment
from sm_ops.tracking.sent import Child, Json
from sm_ops.tracking.server import CONDITION_TAG, FLOW_TAG, RUN_TAG, connected
from sm_ops.tracking.spool import mark_tracked, mlflow_run_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

POINTERS = "models.json"


def log_run(run: Run, results: Json, home: Path) -> None:
    """Send a run whose report is written, once. `InputError` where the server does not take it now."""
    with connected(home, f"Run {run.id} is whole, but was not tracked") as client:
        _log_run(client, run, results, home)


def push(home: Path) -> list[str]:
    """Send all runs that the server does not have; the ids of those that were. Raises at the first failure.

    A run that it has gets the links to code and data that became known since.
    """
    sent = []
    for run in all_runs(home):
        results = run.folder / "results.json"
        if not results.is_file():  # it has not come to its report
            continue
        with connected(home, f"Run {run.id} is whole, but was not tracked") as client:
            if not _renewed(client, run, home):
                _log_run(client, run, fs.read_json(results), home)
                sent.append(run.id)
    return sent


def _renewed(client: MlflowClient, run: Run, home: Path) -> bool:
    """Whether the server has the run that it was sent; what is newly linked is told."""
    from mlflow.exceptions import MlflowException

    known = mlflow_run_of(run, home)
    if known is None:
        return False
    try:
        tags = client.get_run(known).data.tags
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":  # another database than it was
            return False
        raise
    for name, value in lineage.revisions(run).items():
        if tags.get(name) != value:
            client.set_tag(known, name, value)
    return True


def _log_run(client: MlflowClient, run: Run, results: Json, home: Path) -> None:
    experiment = find_experiment(client, home)
    parent = _whole_run(client, experiment, run) or _log_parent(client, experiment, run, results, home)
    mark_tracked(run, home, parent)


def _whole_run(client: MlflowClient, experiment: str, run: Run) -> str | None:
    """The parent run if the server has it whole; what an interrupted transfer left is removed."""
    found = client.search_runs([experiment], filter_string=f"tags.`{RUN_TAG}` = '{run.id}'")
    for each in found:
        if CONDITION_TAG not in each.data.tags and each.info.status == "FINISHED":
            return each.info.run_id
    for each in found:
        client.delete_run(each.info.run_id)
    return None


def _log_parent(client: MlflowClient, experiment: str, run: Run, results: Json, home: Path) -> str:
    from mlflow.entities import Param

    sent, samples = SENT[run.flow], usage.read_samples(run.folder)
    children = sent.children(results)
    began, ended = _times(run, samples)
    tags = {RUN_TAG: run.id, FLOW_TAG: run.flow, **_who(), **lineage.revisions(run)}
    parent = client.create_run(experiment, began, tags, run.id).info.run_id
    measures = {**sent.summary(results), **numbers.totals(samples)}
    measures |= {f"{name}/{child.name}": child.measures.get(name) for name in sent.axes for child in children}
    parameters = [Param(name, value) for name, value in allowed.parameters(run.config, sent.parameters)]
    client.log_batch(parent, [*numbers.metrics(measures, ended), *numbers.system_metrics(samples)], parameters)
    client.log_inputs(parent, lineage.inputs(run, home, *sent.data))
    client.log_dict(parent, allowed.without_places(run.config, sent.places, sent.models), "config.json")
    for name in sent.artifacts:
        client.log_artifact(parent, str(allowed.public_file(run.folder / name, home)))
    here = f"#/experiments/{experiment}/runs/{parent}"
    client.set_tag(parent, notes.TAG, notes.run_note(run, results, sent, here, comparison(run.flow, experiment)))
    for child in children:
        _log_child(client, experiment, run, parent, child, home, (began, ended))
    client.set_terminated(parent, "FINISHED", ended)
    return parent


def _log_child(
    client: MlflowClient, experiment: str, run: Run, parent: str, child: Child, home: Path, times: tuple[int, int]
) -> None:
    """A row pooled over seeds under the plain names, its trainings, and each of several seeds as a step."""
    from mlflow.entities import Param

    began, ended = times
    tags = {RUN_TAG: run.id, FLOW_TAG: run.flow, CONDITION_TAG: child.name, "mlflow.parentRunId": parent, **_who()}
    tags[notes.TAG] = notes.child_note(child, SENT[run.flow].columns)
    id_ = client.create_run(experiment, began, tags, child.name).info.run_id
    metrics = numbers.metrics(child.measures, ended)
    for seed, measures in child.per_seed if len(child.per_seed) > 1 else ():
        metrics += numbers.metrics({f"per_seed/{name}": value for name, value in measures.items()}, ended, seed)
    for label, history in lineage.histories(run, home, child.trained).items():
        metrics += numbers.curves(history, label, ended)
    client.log_batch(id_, metrics, [Param("condition", child.name), Param("seeds", str(len(child.per_seed)))])
    if child.data and (inputs := lineage.inputs(run, home, *child.data)):
        client.log_inputs(id_, inputs)
    if pointers := lineage.pointers(run, home, child.trained):
        client.log_dict(id_, {"models": pointers}, POINTERS)
    client.set_terminated(id_, "FINISHED", ended)


def _who() -> dict[str, str]:
    """The user that the server knows; the name of the machine's own user stays at home."""
    user = os.environ.get("MLFLOW_TRACKING_USERNAME")
    return {"mlflow.source.name": "sm-ops", "mlflow.source.type": "LOCAL", **({"mlflow.user": user} if user else {})}


def _times(run: Run, samples: list[usage.Sample]) -> tuple[int, int]:
    """When a run began and ended, in milliseconds; where nobody watched it, both are the end of its last step."""
    ended = datetime.fromisoformat(run.finished).timestamp()
    began, ended = (samples[0]["time"], samples[-1]["time"]) if samples else (ended, ended)
    return int(1000 * began), int(1000 * ended)
