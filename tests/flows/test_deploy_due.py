"""When a scheduled run is due, where clocks change too, and when it leaves its work to a newer one."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import CreatedBy, DeploymentSchedule, FlowRun
from prefect.client.schemas.schedules import CronSchedule
from prefect.states import Completed, Failed, Late, Running, Scheduled

from flows._deployments import automations, wanted
from flows._due import superseded, window
from sm_ops.core.config.deployments import Deployments
from sm_ops.core.errors import InputError
from sm_ops.core.orchestration import EXIT_CODES, SUPERSEDED

SCHEDULE, OTHER = uuid4(), uuid4()


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "*/10 * * * * *", "@daily", "every day at two"])
def test_a_schedule_without_a_time_that_comes_is_refused(cron: str) -> None:
    schedule = {"flow": "surprise", "config": "tiny", "cron": cron, "pool": "default"}
    file = Deployments.model_validate(
        {"format": "deployments/1", "pools": {"default": {}}, "schedules": {"daily": schedule}}
    )
    with pytest.raises(InputError, match=r"schedules.daily.cron is .* no time that comes"):
        wanted(file)


@pytest.mark.parametrize(
    ("cron", "due", "end"),
    [
        ("0 2 * * *", "2026-06-10T00:00", "2026-06-11T00:00"),  # summer: two hours ahead of UTC
        ("30 2 * * *", "2026-03-28T01:30", "2026-03-29T01:30"),  # there is no half past two that night: an hour later
        ("30 2 * * *", "2026-03-29T01:30", "2026-03-30T00:30"),  # a window of 23 hours
        ("30 2 * * *", "2026-10-24T00:30", "2026-10-25T00:30"),  # half past two comes twice: the first counts
        ("30 2 * * *", "2026-10-25T00:30", "2026-10-26T01:30"),  # a window of 25 hours
        ("0 4 * * sun", "2026-03-22T03:00", "2026-03-29T02:00"),
        ("* * * * *", "2026-01-01T00:00", "2026-01-01T00:01"),
    ],
)
def test_a_window_ends_when_the_next_run_is_due_in_its_time_zone(cron: str, due: str, end: str) -> None:
    found = window(CronSchedule(cron=cron, timezone="Europe/Berlin"), at(due))
    assert (found.start.astimezone(UTC), found.end.astimezone(UTC)) == (at(due), at(end))


def run(due: str, state: Any, schedule: Any = SCHEDULE, auto: bool = True) -> FlowRun:
    made_by = CreatedBy(id=schedule, type="SCHEDULE", display_value="daily")
    return FlowRun(
        id=uuid4(), flow_id=uuid4(), deployment_id=uuid4(), state=state, state_type=state.type, auto_scheduled=auto,
        expected_start_time=at(due), created_by=made_by,
    )  # fmt: skip


def told(own: FlowRun, newer: list[FlowRun], now: str) -> str | None:
    cron = CronSchedule(cron="0 2 * * *", timezone="UTC")
    schedules = [DeploymentSchedule(id=SCHEDULE, schedule=cron, active=True)]
    client: Any = SimpleNamespace(
        read_deployment=lambda id: SimpleNamespace(schedules=schedules), read_flow_runs=lambda **_: newer
    )
    return superseded(own, client, at(now))


MONDAY, TUESDAY, WEDNESDAY = "2026-06-08T02:00", "2026-06-09T02:00", "2026-06-10T02:00"


@pytest.mark.parametrize(
    ("newer", "now", "answer"),
    [
        ([], "2026-06-08T02:01", None),
        ([], "2026-06-20T00:00", None),  # late, and yet the newest there is
        ([run(TUESDAY, Scheduled())], "2026-06-08T23:00", None),  # tomorrow's is planned
        ([run(TUESDAY, Late())], "2026-06-09T02:30", "is due now"),
        ([run(TUESDAY, Running())], "2026-06-09T02:30", "is due now"),
        ([run(TUESDAY, Failed())], "2026-06-09T02:30", None),  # somebody has to do it
        ([run(TUESDAY, Completed())], "2026-06-09T02:30", "succeeded"),
        ([run(WEDNESDAY, Scheduled()), run(TUESDAY, Completed())], "2026-06-09T02:30", "succeeded"),
        ([run(WEDNESDAY, Scheduled()), run(TUESDAY, Failed())], "2026-06-09T02:30", None),
        ([run(TUESDAY, Completed(), OTHER)], "2026-06-09T02:30", None),  # of another schedule
        ([run(TUESDAY, Late())], "2026-06-08T01:00", None),  # the clock was set back
        ([run(TUESDAY, Completed())], "2026-06-08T01:00", "succeeded"),
    ],
)
def test_a_run_leaves_its_work_to_a_newer_one(newer: list[FlowRun], now: str, answer: str | None) -> None:
    found = told(run(MONDAY, Running()), newer, now)
    assert found is None if answer is None else answer in str(found)
    if found:
        assert found.startswith("This run was due from 2026-06-08 02:00 to 2026-06-09 02:00 UTC; the one of 2026-06-09")


def test_a_run_that_a_person_started_has_no_window() -> None:
    own = run(MONDAY, Running(), auto=False)
    assert told(own, [run(TUESDAY, Completed())], "2026-06-09T02:30") is None


def test_no_last_state_of_ours_is_taken_for_silence() -> None:
    for each in automations():
        expected = {event.removeprefix("prefect.flow-run.") for event in each.trigger.expect}  # type: ignore[union-attr]
        assert {SUPERSEDED, *EXIT_CODES, "Completed", "Failed", "Cancelled", "Crashed"} <= expected
