"""The due window of a scheduled run: from its own time to the schedule's next one.

What was missed while a server, a worker or a machine was away does not pile up: a run whose window is over leaves it
to a newer one. Times come from the schedule, in its time zone, not from how long anything took: a night of 23 or of
25 hours is one window.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
)
from prefect.client.schemas.objects import FlowRun
from prefect.client.schemas.schedules import CronSchedule
from prefect.client.schemas.sorting import FlowRunSort

from flows._dates import dates


@dataclass(frozen=True)
class Window:
    """When a scheduled run is due, and when the next one is."""

    start: datetime
    end: datetime

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} to {self.end:%Y-%m-%d %H:%M %Z}"


def window(schedule: CronSchedule, due: datetime) -> Window:
    """The window of the run that is due at a time of the schedule; it ends when the server's next run is due."""
    found = dates(schedule, 2, due)
    return Window(found[0], next(date for date in found if date > due))


def superseded(run: FlowRun, client: SyncPrefectClient, now: datetime | None = None) -> str | None:
    """Why a run that was scheduled need not run any more, as a sentence; None if it has to, or was started by hand.

    It need not when a newer run of its schedule succeeded, or is due, because its own window is over.
    """
    if not run.auto_scheduled or run.deployment_id is None or run.expected_start_time is None:
        return None
    own = {each.id: each.schedule for each in client.read_deployment(run.deployment_id).schedules}
    made_by = _schedule_of(run)
    schedule = own.get(made_by) if made_by else None
    if not isinstance(schedule, CronSchedule):
        return None
    newer = (each for each in _later(run, client) if _schedule_of(each) == made_by)
    return _superseded(window(schedule, run.expected_start_time), newer, now or datetime.now(UTC))


def _schedule_of(run: FlowRun) -> UUID | None:
    return run.created_by and run.created_by.id


def _superseded(due: Window, newer: Iterable[FlowRun], now: datetime) -> str | None:
    """`newer` are the later runs of the same schedule."""
    for run in newer:
        then = run.expected_start_time
        if run.state is None or then is None:
            continue
        told = f"the one of {then.astimezone(due.start.tzinfo):%Y-%m-%d %H:%M %Z}"
        if run.state.is_completed():
            return f"This run was due from {due}; {told} succeeded."
        if not run.state.is_final() and then <= now:  # so the window is over
            return f"This run was due from {due}; {told} is due now."
    return None


def _later(run: FlowRun, client: SyncPrefectClient) -> list[FlowRun]:
    """The runs of the same deployment that are due after a run, the last one first."""
    after = FlowRunFilterExpectedStartTime(after_=run.expected_start_time)
    found = client.read_flow_runs(
        flow_run_filter=FlowRunFilter(expected_start_time=after),
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[UUID(str(run.deployment_id))])),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
    )
    return [each for each in found if each.id != run.id]
