"""The experiment that holds the runs, and its saved views: what each flow's rows cost and leak, in one chart.

A saved view is a tag of the experiment in the format of MLflow's own page (`Views` there). One that is there already
stays as it is: people may have changed it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core.errors import InputError
from sm_ops.tracking import notes, sent_audit, sent_pii, sent_ranking, sent_rewriting, sent_sanitize, sent_surprise
from sm_ops.tracking.sent import Sent
from sm_ops.tracking.server import CONDITION_TAG, EXPERIMENT, FLOW_TAG, RUN_TAG
from sm_ops.tracking.spool import tracking_uri

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

SENT: dict[str, Sent] = {
    "surprise": sent_surprise.SENT,
    "pii": sent_pii.SENT,
    "audit": sent_audit.SENT,
    "sanitize": sent_sanitize.SENT,
    "ranking": sent_ranking.SENT,
    "rewriting": sent_rewriting.SENT,
}
"""What is sent of a flow's runs."""

_KIND = {"mlflow.experimentKind": "custom_model_development"}  # else the page is laid out for chats
_VIEW = "mlflow.sharedViewState."
_NOTE = (
    "Runs of sm-ops: settings, numbers with their intervals, digests of data and models, and never data. Each has a "
    "run below it for each row of its table."
)


def find_experiment(client: MlflowClient, home: Path) -> str:
    """The id of the experiment, which is made and given its views where they are missing."""
    known = client.get_experiment_by_name(EXPERIMENT) or _make(client, home)
    if known.lifecycle_stage != "active":
        raise InputError(
            "experiment-deleted",
            f"Experiment {EXPERIMENT} was deleted on the tracking server; bring it back there with: "
            f"mlflow experiments restore --experiment-id {known.experiment_id}",
        )
    for name, value in _tags(known.experiment_id).items():
        if name not in known.tags:
            client.set_experiment_tag(known.experiment_id, name, value)
    return known.experiment_id


def _make(client: MlflowClient, home: Path) -> Experiment:
    from mlflow.exceptions import MlflowException

    remote = tracking_uri(home).startswith(("http:", "https:"))
    try:
        client.create_experiment(EXPERIMENT, None if remote else (home / "mlartifacts").as_uri())
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":  # another home was quicker
            raise
    made = client.get_experiment_by_name(EXPERIMENT)
    assert made is not None
    return made


def comparison(flow: str, experiment: str) -> str:
    """Where the page compares the rows of all runs of a flow."""
    layout = "workflowType=machine_learning&compareRunsMode=CHART"
    return f"#/experiments/{experiment}/runs?viewStateShareKey={_key(flow)}&{layout}"


def _tags(experiment: str) -> dict[str, str]:
    links = ", ".join(f"[{sent.title}]({comparison(flow, experiment)})" for flow, sent in SENT.items())
    views = {f"{_VIEW}{_key(flow)}": _view(flow, sent) for flow, sent in SENT.items()}
    return {**_KIND, notes.TAG: f"Compare runs: {links}.\n\n{_NOTE}", **views}


def _key(flow: str) -> str:
    return f"sm-ops-{flow}"


def _view(flow: str, sent: Sent) -> str:
    """The rows of a flow's runs in the plane of its two axes, and bars of each measure beside."""
    cost, leak = sent.axes
    section = f"{flow}-section"
    card = {"metricSectionId": section, "deleted": False, "isGenerated": False}
    axes = {axis: {"key": key, "type": "METRIC"} for axis, key in (("xaxis", cost), ("yaxis", leak))}
    charts = [
        {**card, "uuid": f"{flow}-plane", "type": "SCATTER", "runsCountToCompare": 100, **axes},
        *(
            {**card, "uuid": f"{flow}-{key}", "type": "BAR", "runsCountToCompare": 20, "metricKey": key}
            for key in (leak, cost)
        ),
    ]
    state: dict[str, Any] = {
        "searchFilter": f"tags.`{FLOW_TAG}` = '{flow}' and tags.`{CONDITION_TAG}` != ''",
        "orderByKey": f"metrics.`{leak}`",  # by time, the page would fold the rows away below their runs
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": [f"tags.`{RUN_TAG}`", *(f"metrics.`{column.measure}`" for column in sent.columns)],
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": charts,
        "compareRunSections": [
            {"uuid": section, "name": sent.title, "display": True, "isReordered": False, "deleted": False,
             "isGenerated": False}
        ],
        "isAccordionReordered": True,
        "hideEmptyCharts": True,
    }  # fmt: skip
    return json.dumps({"name": sent.title, "createdAt": 0, "updatedAt": 0, "state": json.dumps(state)})
