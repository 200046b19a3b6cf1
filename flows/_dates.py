"""When a schedule is due, computed by the server's own code: across the nights on which clocks change, too."""

from __future__ import annotations

from datetime import datetime

from prefect.client.schemas.schedules import CronSchedule
from prefect.server.schemas import schedules
from prefect.utilities.asyncutils import run_coro_as_sync


def dates(schedule: CronSchedule, number: int, start: datetime | None = None) -> list[datetime]:
    """The next times of a schedule from `start` (now) on, in its time zone; raises whatever a wrong one makes."""
    same = schedules.CronSchedule(cron=schedule.cron, timezone=schedule.timezone, day_or=schedule.day_or)
    return list(run_coro_as_sync(same.get_dates(n=number, start=start)) or [])
