"""Processes of a stack, told by a mark in their environment, which whatever they start inherits.

A process group would not do: Prefect starts each flow in a session of its own.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

STACK, SERVICE = "SM_OPS_STACK", "SM_OPS_STACK_SERVICE"
SUPERVISOR = "sm_ops.stack.supervisor"
"""The module that supervises, as a command line names it."""
_LOOKS = 10


def mark(stack: Path, service: str) -> dict[str, str]:
    """The variables that a service's processes bear."""
    return {STACK: str(stack), SERVICE: service}


def marked(stack: Path, service: str | None = None) -> list[Any]:
    """Living processes (psutil's) of a stack, or of one of its services."""
    import psutil

    wanted = {STACK: str(stack)} | ({SERVICE: service} if service else {})
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if wanted.items() <= process.environ().items() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def homes() -> set[Path]:
    """Homes over which this user has a supervisor running, or starting."""
    import psutil

    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError, KeyError):
            if SUPERVISOR in process.cmdline():
                found.add(Path(process.environ()["SM_OPS_HOME"]))
    return found


def end(stack: Path, service: str | None = None) -> None:
    """Kill them; more than one look, since one may start another meanwhile."""
    import psutil

    for _ in range(_LOOKS):
        if not (found := marked(stack, service)):
            return
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=5)
