"""The last runs, and whether tracking and data versions know them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sm_ops.core.home import all_runs, unreadable_runs
from sm_ops.health.row import Row
from sm_ops.report.words import minute
from sm_ops.tracking.spool import untracked

_SHOWN = 3


def rows(home: Path) -> Iterator[Row]:
    """The newest runs, those that cannot be read, and those that wait to be sent to the tracking server."""
    runs, waiting = all_runs(home), len(untracked(home))
    last = ", ".join(f"{run.id} of {minute(run.finished)}" for run in runs[-_SHOWN:][::-1])
    yield Row("runs", True, f"{len(runs)}, the last: {last}" if runs else "none yet; make one with: sm-ops run")
    for error in unreadable_runs(home).values():
        yield Row("runs", False, error.hint)
    if waiting:
        told = "1 run is" if waiting == 1 else f"{waiting} runs are"
        yield Row("tracking", False, f"{told} not on the tracking server; send what is missing: sm-ops track push")
    elif runs:
        yield Row("tracking", True, "all runs were sent")
