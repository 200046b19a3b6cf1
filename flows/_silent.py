"""Crash runs that nobody computes any more, where the server's own automation has forgotten them.

An automation waits for events, and forgets what it waited for while its server is away. So every worker looks too, once
the server has had time to hear from the living.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType, FlowRunFilterTags
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.events.filters import EventFilter
from prefect.states import Crashed

from flows._deployments import SILENCE, START
from flows._settings import TAG


def watch(told: threading.Event) -> None:
    """Look every `SILENCE` seconds until told to end; first when the server has answered for so long."""
    answered = False
    while not told.wait(SILENCE):
        try:
            with get_client(sync_client=True) as client:
                client.hello()
                if answered:
                    crash_silent(client, datetime.now(UTC))
            answered = True
        except Exception:  # it is away, which its own doctor tells
            answered = False


def crash_silent(client: SyncPrefectClient, now: datetime) -> list[FlowRun]:
    """Crash the runs of ours that are silent."""
    silent = [run for run in under_way(client) if is_silent(run, client, now)]
    for run in silent:
        with suppress(Exception):  # it has ended meanwhile
            client.set_flow_run_state(run.id, Crashed(message="Nobody has heard of the run's process for long."))
    return silent


def under_way(client: SyncPrefectClient) -> list[FlowRun]:
    """The runs of ours that hold a place in a pool."""
    holding = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING]))
    ours = FlowRunFilterTags(all_=[TAG])
    return client.read_flow_runs(flow_run_filter=FlowRunFilter(state=holding, tags=ours))


def is_silent(run: FlowRun, client: SyncPrefectClient, now: datetime) -> bool:
    """Whether a run had no heartbeat for twice `SILENCE` seconds, or is still pending after `START` seconds."""
    if run.state is None:
        return False
    if run.state_type == StateType.PENDING:
        return now - run.state.timestamp > timedelta(seconds=START)
    since = now - timedelta(seconds=2 * SILENCE)
    heartbeats = EventFilter.model_validate(
        {
            "occurred": {"since": since, "until": now},
            "event": {"name": ["prefect.flow-run.heartbeat"]},
            "resource": {"id": [f"prefect.flow-run.{run.id}"]},
        }
    )
    return run.state.timestamp < since and not client.read_events(heartbeats, limit=1).events
