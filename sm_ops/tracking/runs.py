"""Send a run to MLflow: one parent run, and below it one run per row of its table.

What is sent is chosen by name, in one module a flow: settings that are plain scalars, numbers with their intervals,
digests of data sets, and the public files of the run's folder. Settings that name files or folders stay at home.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError, SmOpsError
from sm_ops.core.home import Run
from sm_ops.core.store import Record, Store
from sm_ops.tracking import sent_audit, sent_pii, sent_surprise
from sm_ops.tracking.sent import Child, Json
from sm_ops.tracking.server import EXPERIMENT, RUN_TAG, connected
from sm_ops.tracking.spool import mark_tracked, tracking_uri, untracked

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import DatasetInput, Metric

SENT = {"surprise": sent_surprise, "pii": sent_pii, "audit": sent_audit}
CONDITION_TAG = "sm_ops.condition"


def log_run(run: Run, results: Json, home: Path) -> None:
    """Send a run whose report is written, once. `InputError` where the server does not take it now."""
    try:
        _log_run(run, results, home)
        return
    except SmOpsError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise InputError(
        "tracking-failed",
        f"Run {run.id} was not tracked ({kind}); it is whole, send it later with: sm-ops track push",
    )


def push(home: Path) -> list[str]:
    """Send all runs that were not sent yet; the ids of those that were. Raises at the first failure."""
    sent = []
    for run in untracked(home):
        results = run.folder / "results.json"
        if results.is_file():  # a run without it has not come to its report
            log_run(run, fs.read_json(results), home)
            sent.append(run.id)
    return sent


def _log_run(run: Run, results: Json, home: Path) -> None:
    with connected(home) as client:
        experiment = _experiment(client, home)
        parent = _whole_run(client, experiment, run)
        if parent is None:
            parent = _log_parent(client, experiment, run, results, home)
        mark_tracked(run, home, parent)


def _experiment(client: MlflowClient, home: Path) -> str:
    known = client.get_experiment_by_name(EXPERIMENT)
    if known is not None:
        return known.experiment_id
    remote = tracking_uri(home).startswith(("http:", "https:"))
    return client.create_experiment(EXPERIMENT, None if remote else (home / "mlartifacts").as_uri())


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

    sent = SENT[run.flow]
    parent = client.create_run(experiment, run_name=run.id, tags={RUN_TAG: run.id}).info.run_id
    parameters = [Param(name, str(value)) for name, value in _parameters(run.config, sent.PARAMETERS)]
    client.log_batch(parent, _metrics(sent.summary(results)), parameters)
    client.log_inputs(parent, _inputs(run, home, *sent.DATA))
    client.log_dict(parent, without_places(run.config, sent.PLACES, sent.MODELS), "config.json")
    for name in sent.ARTIFACTS:
        client.log_artifact(parent, str(public_file(run.folder / name, home)))
    for child in sent.children(results):
        inputs = _inputs(run, home, *child.data) if child.data else []
        _log_child(client, experiment, run, parent, child, inputs)
    client.set_terminated(parent, "FINISHED")
    return parent


def _log_child(
    client: MlflowClient, experiment: str, run: Run, parent: str, child: Child, inputs: list[DatasetInput]
) -> None:
    """A row pooled over seeds under the plain names, and each seed as a step of `per_seed/NAME`."""
    from mlflow.entities import Param

    tags = {RUN_TAG: run.id, CONDITION_TAG: child.name, "mlflow.parentRunId": parent}
    id_ = client.create_run(experiment, run_name=child.name, tags=tags).info.run_id
    metrics = _metrics(child.measures)
    for seed, measures in child.per_seed:
        metrics += _metrics({f"per_seed/{name}": value for name, value in measures.items()}, seed)
    client.log_batch(id_, metrics, [Param("condition", child.name), Param("seeds", str(len(child.per_seed)))])
    if inputs:
        client.log_inputs(id_, inputs)
    client.set_terminated(id_, "FINISHED")


def _parameters(config: Json, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for dotted in names:
        section, _, name = dotted.partition(".")
        if name in config.get(section, {}):
            yield dotted, config[section][name]


def _metrics(values: dict[str, float | None], step: int = 0) -> list[Metric]:
    """Defined numbers alone: what is undefined is absent, never 0."""
    from mlflow.entities import Metric

    now = int(1000 * time.time())
    return [Metric(name, float(value), now, step) for name, value in values.items() if value is not None]


def _inputs(run: Run, home: Path, step: str, names: tuple[str, ...]) -> list[DatasetInput]:
    """Data sets by our digest of their content; neither data nor place goes along."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    record = _record(run, home, step)
    if record is None:
        return []
    inputs = []
    for output, stored in record.outputs.items():
        name = output.rpartition(".")[0]
        if name in names:
            source = json.dumps({"step": record.step, "output": output})
            dataset = Dataset(f"{record.step}/{name}", stored.sha256[:32], "sm-ops", source)
            inputs.append(DatasetInput(dataset, [InputTag("mlflow.data.context", name)]))
    return inputs


def _record(run: Run, home: Path, step: str) -> Record | None:
    known = run.steps.get(step)
    return Store(home).find(known["stage"], known["fingerprint"]) if known else None


def public_file(path: Path, home: Path) -> Path:
    """The path, or an `InputError` where it leads below the restricted root."""
    if path.resolve().is_relative_to((home / "restricted").resolve()):
        raise InputError("restricted", f"{path.name} is a restricted output, and tracking never opens such an output.")
    return path


def without_places(config: Json, places: Iterable[str], models: Iterable[str]) -> Json:
    """The config without the names of the user's files and folders; names of public models stay."""
    config = json.loads(json.dumps(config))
    for dotted in places:
        _replace(config, dotted, lambda value: "[a file or folder]")
    for dotted in models:
        _replace(config, dotted, lambda value: value if _hub_name(value) else "[a file or folder]")
    return config


def _replace(values: Any, dotted: str, change: Callable[[str], str]) -> None:
    head, _, rest = dotted.partition(".")
    for key in [*values] if head == "*" else [head] if head in values else []:
        if rest:
            _replace(values[key], rest, change)
        elif values[key] is not None:
            values[key] = change(values[key])


def _hub_name(value: str) -> bool:
    return re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", value) is not None and not Path(value).exists()
