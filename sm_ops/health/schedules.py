"""The schedules of a Prefect server: is each active, was its last run well, is one late."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sm_ops.core import processes
from sm_ops.core.orchestration import BAD_ENDS
from sm_ops.health.row import Row

_PATIENCE = 60
"""Seconds for a server to answer."""
_WAITING = 2
"""Late runs of a schedule that may wait for the one under way."""


def rows(home: Path) -> Iterator[Row]:
    """One row a schedule, of the server that PREFECT_API_URL names; none is started to ask."""
    if not os.environ.get("PREFECT_API_URL"):
        yield Row("schedules", True, "no server is named or runs here; start one with: sm-ops serve")
        return
    try:
        done = _asked()
    except subprocess.TimeoutExpired:
        yield Row("schedules", False, f"the server at PREFECT_API_URL did not answer within {_PATIENCE} s")
        return
    if done.returncode:
        said = done.stderr.strip().splitlines()
        yield Row("schedules", False, said[-1].removeprefix("sm-ops: ") if said else "the server did not answer")
        return
    found = json.loads(done.stdout)
    if not found["schedules"]:
        yield Row("schedules", True, "none; make them with: sm-ops deploy")
    for pool in found["pools"]:
        online = pool["workers_online"]
        told = f"{online} workers of pool {pool['name']}, {pool['concurrency']} runs at a time"
        yield Row("workers", online > 0, told if online else f"{told}; start one, or: sm-ops serve")
    if found["schedules"] and not found["automation"]:
        yield Row("schedules", False, "runs that fall silent stay Running; mend it with: sm-ops deploy")
    for run in (each for each in found["under_way"] if each["silent"]):
        told = f"{run['run']} is {run['state']} since {run['since']}, but not heard of; a worker will call it crashed"
        yield Row("runs", False, f"{told} within minutes, if one runs")
    busy = bool(found["under_way"])
    yield from (_schedule(row, busy) for row in found["schedules"])


def _asked() -> subprocess.CompletedProcess[str]:
    command = processes.command("flows.deploy", "status", "--json")
    return subprocess.run(
        command,
        env=processes.environment(),
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def _schedule(row: dict[str, Any], busy: bool) -> Row:
    """A run or two that wait for another one's end are no trouble; more are, and any where none is under way."""
    last = f"last {row['last_state']} ({row['last_expected']})" if row["last_state"] else "never ran"
    well = row["last_state"] not in BAD_ENDS and row["late"] <= (_WAITING if busy else 0)
    state = "paused" if row["paused"] else f"next {row['next']}"
    late = f", {row['late']} late" if row["late"] else ""
    return Row("schedule", well, f"{row['slug']} ({row['cron']} {row['timezone']}): {state}, {last}{late}")
