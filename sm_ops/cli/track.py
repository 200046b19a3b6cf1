"""Tracking: send what a server has not got yet."""

from __future__ import annotations

import sys

import typer

app = typer.Typer(help="Send runs and releases to MLflow.", rich_markup_mode=None)


@app.callback()
def _track() -> None:
    """Send runs and releases to MLflow: to MLFLOW_TRACKING_URI, or to a file in the home folder."""


@app.command(epilog="Examples: sm-ops track push | MLFLOW_TRACKING_URI=http://127.0.0.1:5000 sm-ops track push")
def push() -> None:
    """Send every finished run that the tracking server does not have yet, and what it does not know of releases."""
    from sm_ops.core.home import home_folder
    from sm_ops.release.mirror import mirror_releases
    from sm_ops.tracking.runs import push as push_runs

    runs = push_runs(home_folder())
    for run_id in runs:
        print(run_id)
    releases = mirror_releases(home_folder())
    for release in releases:
        print(release)
    print(f"{len(runs)} runs sent, {len(releases)} releases mirrored; next: sm-ops report", file=sys.stderr)
