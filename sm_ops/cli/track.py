"""Tracking: send what a server has not got yet."""

from __future__ import annotations

import sys

import typer

from sm_ops.cli.options import RunName, home_with_servers

app = typer.Typer(help="Send runs and releases to MLflow.", rich_markup_mode=None)


@app.callback()
def _track() -> None:
    """Send runs and releases to MLflow: to MLFLOW_TRACKING_URI, the running stack, or a file in the home folder."""


@app.command(epilog="Examples: sm-ops track push | MLFLOW_TRACKING_URI=http://127.0.0.1:5000 sm-ops track push")
def push() -> None:
    """Send every finished run that the tracking server does not have yet, and what it does not know of releases."""
    from sm_ops.release.mirror import mirror_releases
    from sm_ops.tracking.runs import push as push_runs

    home = home_with_servers()
    runs = push_runs(home)
    for run_id in runs:
        print(run_id)
    releases = mirror_releases(home)
    for release in releases:
        print(release)
    print(f"{len(runs)} runs sent, {len(releases)} releases mirrored; next: sm-ops report", file=sys.stderr)


@app.command(epilog="Examples: sm-ops track weights | sm-ops track weights tiny-0a1b")
def weights(run: RunName = None) -> None:
    """Send the weights that a run trained, up to 50 MB a model, of which the server has digests alone.

    They may hold what they were trained on: whoever may read the experiment may then extract it.
    """
    from sm_ops.core.home import find_run
    from sm_ops.tracking.weights import send_weights

    home = home_with_servers()
    found = find_run(home, run)
    sent, too_large = send_weights(found, home)
    for each in sent:
        print(each)
    told = f"{len(sent)} models of run {found.id} sent, {len(too_large)} too large"
    print(f"{told}; next: sm-ops report", file=sys.stderr)
