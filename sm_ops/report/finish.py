"""What follows a run: report, version of its data, tracking, the table on the screen, and what to type next.

Every flow has a package here with the same two modules: `results` (`load_results`, `print_table`, `NEXT`, and `search`
where values are known that must stand nowhere) and `html` (`write_report`).
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import SmOpsError, sanitise
from sm_ops.core.home import Run
from sm_ops.tracking.spool import is_tracked


def results_of(run: Run) -> ModuleType:
    """The module that reads the numbers of such runs."""
    return importlib.import_module(f"sm_ops.report.{run.flow}.results")


def finish(run: Run, home: Path, release: Callable[[Run, Path], str | None]) -> None:
    """Write the report, version the data and track the run where that is still to do, then print the table and what
    `release` makes.

    A run whose data cannot be versioned, or that cannot be tracked now, is still a good run: one sentence says so, and
    how to do it later. `release` ends a run with its release, if it is to have one, and returns the command that is due
    for it.
    """
    numbers = results_of(run)
    results = numbers.load_results(run, home)
    if _written(run) != json.loads(json.dumps(results)):
        importlib.import_module(f"sm_ops.report.{run.flow}.html").write_report(run, home)
    if run.links()["data"] is None:
        _version(run, home)
    if not is_tracked(run, home):
        _track(run, results, home)
    if hasattr(numbers, "search"):
        numbers.search(results)
    numbers.print_table(results)
    print(f"report: {run.folder / 'report.html'}")
    due = release(run, home)
    print(f"next: {numbers.NEXT}" if due is None else f"next: {due}, {numbers.NEXT}")


def _written(run: Run) -> Any:
    """The results that the present report shows, or None where there is none."""
    report, results = run.folder / "report.html", run.folder / "results.json"
    return fs.read_json(results) if report.is_file() and results.is_file() else None


def _version(run: Run, home: Path) -> None:
    from sm_ops.versioning.data.verbs import keep

    try:
        keep(run, home)
    except Exception as error:
        told = sanitise(error)
        later = f"The run stands; later: sm-ops data push [{told.code}]"
        print(f"sm-ops: the run's data: {told.hint} {later}", file=sys.stderr)


def _track(run: Run, results: dict[str, Any], home: Path) -> None:
    from sm_ops.tracking.runs import log_run

    try:
        log_run(run, results, home)
    except SmOpsError as error:
        print(f"sm-ops: {error}", file=sys.stderr)
