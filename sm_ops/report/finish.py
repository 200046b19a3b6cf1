"""What follows a run: its report, its tracking, its table on the screen, and what to type next."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import SmOpsError
from sm_ops.core.home import Run
from sm_ops.report.results import load_results, print_table
from sm_ops.tracking.spool import is_tracked


def finish(run: Run, home: Path) -> None:
    """Write the report and track the run where that is still to do, then print the table.

    A run that cannot be tracked now is still a good run: one sentence says so, and how to send it later.
    """
    results = load_results(run, home)
    if _written(run) != json.loads(json.dumps(results)):
        from sm_ops.report.html import write_report

        write_report(run, home)
    if not is_tracked(run, home):
        _track(run, results, home)
    print_table(results)
    print(f"report: {run.folder / 'report.html'}")
    print("next: sm-ops sweep (a larger picture), sm-ops show (what is stored), sm-ops report --json (the numbers)")


def _written(run: Run) -> Any:
    """The results that the present report shows, or None where there is none."""
    report, results = run.folder / "report.html", run.folder / "results.json"
    return fs.read_json(results) if report.is_file() and results.is_file() else None


def _track(run: Run, results: dict[str, Any], home: Path) -> None:
    from sm_ops.tracking.runs import log_run

    try:
        log_run(run, results, home)
    except SmOpsError as error:
        print(f"sm-ops: {error}", file=sys.stderr)
