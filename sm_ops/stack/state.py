"""What runs of a home's stack, for `sm-ops serve status` and the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sm_ops.stack import leftovers, lock
from sm_ops.stack.plan import Folders, Plan

RUNNING, STARTING = "RUNNING", "STARTING"
GIVEN_UP = "FATAL"


@dataclass(frozen=True)
class Service:
    """A service: `state` is supervisor's word, but RUNNING only when it answers; its own process; `since` in UTC."""

    name: str
    state: str
    url: str | None
    pid: int | None
    since: str | None


def running(home: Path) -> bool:
    """Whether the stack of this home runs, or is about to."""
    return lock.holder(Folders(home)) is not None


def services(home: Path) -> list[Service]:
    """Every service of the stack in the order of start; none where no stack runs."""
    from sm_ops.stack.services import services as described
    from sm_ops.stack.supervisor import processes

    if not running(home):
        return []
    plan = Plan.load(home)
    known = processes(plan.folders)
    pids = _servers(plan.folders)
    found = []
    for each in described(plan):
        row = known[each.name]
        state = row["statename"]
        if state == RUNNING and not (each.name in pids and each.answers()):
            state = STARTING
        since = datetime.fromtimestamp(row["start"], UTC).isoformat(timespec="seconds") if row["pid"] else None
        found.append(Service(each.name, state, each.url, pids.get(each.name), since))
    return found


def _servers(folders: Folders) -> dict[str, int]:
    """The oldest process of each service."""
    import psutil

    found: dict[str, int] = {}
    for process in sorted(leftovers.marked(folders.stack), key=lambda each: each.create_time()):
        try:
            found.setdefault(process.environ()[leftovers.SERVICE], process.pid)
        except psutil.Error:  # it ended meanwhile
            continue
    return found
