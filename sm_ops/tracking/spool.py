"""Which runs were sent to the tracking server: a marker in the run's folder; MLflow is not imported to ask."""

from __future__ import annotations

import json
import os
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.home import Run, all_runs

MARKER = "tracked.json"


def tracking_uri(home: Path) -> str:
    """`MLFLOW_TRACKING_URI`, or an SQLite file below the home folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home / 'mlflow.db'}"


def is_tracked(run: Run, home: Path) -> bool:
    """Whether the run was sent to the present tracking server."""
    try:
        return _digest(home) in fs.read_json(run.folder / MARKER)
    except (FileNotFoundError, json.JSONDecodeError):
        return False


def mark_tracked(run: Run, home: Path, mlflow_run: str) -> None:
    """Remember where the run went: by the digest of the server's address, which may hold a password."""
    try:
        known = fs.read_json(run.folder / MARKER)
    except (FileNotFoundError, json.JSONDecodeError):
        known = {}
    fs.write_json(run.folder / MARKER, {**known, _digest(home): mlflow_run})


def untracked(home: Path) -> list[Run]:
    """Finished runs that have not been sent yet, the oldest first."""
    return [run for run in all_runs(home) if not is_tracked(run, home)]


def _digest(home: Path) -> str:
    return fs.sha256(tracking_uri(home).encode())[:16]
