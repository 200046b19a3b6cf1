"""Tracking: send what a server has not got yet."""

from __future__ import annotations

import sys

import typer

app = typer.Typer(help="Send runs to MLflow.", rich_markup_mode=None)


@app.callback()
def _track() -> None:
    """Send runs to MLflow: to MLFLOW_TRACKING_URI, or to a file in the home folder."""


@app.command(epilog="Examples: sm-ops track push | MLFLOW_TRACKING_URI=http://127.0.0.1:5000 sm-ops track push")
def push() -> None:
    """Send every finished run that the tracking server does not have yet."""
    from sm_ops.core.home import home_folder
    from sm_ops.tracking.runs import push as push_runs

    sent = push_runs(home_folder())
    for run_id in sent:
        print(run_id)
    print(f"{len(sent)} runs sent; next: sm-ops report", file=sys.stderr)
