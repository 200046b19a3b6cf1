"""How the schedules on a Prefect server fare: for `sm-ops deploy --status` and `sm-ops doctor`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
)
from prefect.client.schemas.objects import FlowRun, StateType, WorkerStatus
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.sorting import FlowRunSort

from flows._apply import ours
from flows._deployments import automations
from flows._silent import is_silent, under_way

_RUNS = 5
_LATE = timedelta(minutes=1)


def status(client: SyncPrefectClient) -> dict[str, Any]:
    """`server` (its address), `pools`, `schedules`, and `automation`: whether runs that fall silent are crashed.

    A pool has name, concurrency, paused and workers_online. A schedule has its newest run's state and times, its last
    `runs`, the newest first, and the number of those that are `late`: due for a minute, and not begun. `under_way` are
    the runs that hold a place in a pool; nobody has heard of a `silent` one for long.
    """
    found = list(ours(client))
    pools = sorted({each.work_pool_name for _, each in found if each.work_pool_name})
    enabled = {each.name for each in client.read_automations() if each.enabled}
    return {
        "server": str(client.api_url).rpartition("@")[2].rstrip("/"),
        "pools": [_pool(name, client) for name in pools],
        "schedules": [row for flow, each in found for row in _schedules(flow, each, client)],
        "automation": {each.name for each in automations()} <= enabled,
        "under_way": [_under_way(run, client) for run in under_way(client)],
    }


def _under_way(run: FlowRun, client: SyncPrefectClient) -> dict[str, Any]:
    assert run.state is not None
    silent = is_silent(run, client, datetime.now(UTC))
    return {"run": run.name, "state": run.state_name, "since": _time(run.state.timestamp), "silent": silent}


def without_worker(pools: Iterable[str], client: SyncPrefectClient) -> list[str]:
    """The pools whose runs nobody would take now."""
    return [name for name in pools if not _pool(name, client)["workers_online"]]


def _pool(name: str, client: SyncPrefectClient) -> dict[str, Any]:
    pool = client.read_work_pool(name)
    workers = client.read_workers_for_work_pool(name)
    return {
        "name": name,
        "concurrency": pool.concurrency_limit,
        "paused": pool.is_paused,
        "workers_online": sum(worker.status == WorkerStatus.ONLINE for worker in workers),
    }


def _schedules(flow: str, each: DeploymentResponse, client: SyncPrefectClient) -> list[dict[str, Any]]:
    """The rows of a deployment, whose runs are those of its one schedule, and of those who started it by hand."""
    now = datetime.now(UTC)
    past = _runs(each, client, {"before_": now}, FlowRunSort.EXPECTED_START_TIME_DESC)
    coming = _runs(each, client, {"after_": now}, FlowRunSort.EXPECTED_START_TIME_ASC)
    begun = [_run(run) for run in past if run.state_type != StateType.SCHEDULED]
    late = [run for run in past if run.state_type == StateType.SCHEDULED and _due(run) < now - _LATE]
    last = begun[0] if begun else {}
    return [
        {
            "deployment": f"{flow}/{each.name}",
            "slug": one.slug,
            "cron": getattr(one.schedule, "cron", str(one.schedule)),
            "timezone": getattr(one.schedule, "timezone", None),
            "paused": each.paused or not one.active,
            "next": _time(_due(coming[0])) if coming else None,
            "late": len(late),
            **{f"last_{key}": last.get(key) for key in ("state", "expected", "ended")},
            "runs": begun[:_RUNS],
        }
        for one in each.schedules
    ]


def _runs(
    each: DeploymentResponse, client: SyncPrefectClient, when: dict[str, datetime], sort: FlowRunSort
) -> list[FlowRun]:
    return client.read_flow_runs(
        flow_run_filter=FlowRunFilter(expected_start_time=FlowRunFilterExpectedStartTime.model_validate(when)),
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[each.id])),
        sort=sort,
    )


def _run(run: FlowRun) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "expected": _time(_due(run)),
        "started": _time(run.start_time),
        "ended": _time(run.end_time),
        "state": run.state_name,
        "message": run.state.message if run.state else None,
    }


def _due(run: FlowRun) -> datetime:
    assert run.expected_start_time is not None  # which every run has
    return run.expected_start_time


def _time(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else None
