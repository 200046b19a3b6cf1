"""What was sent to the tracking server: a link in a run's folder, a marker of the home for its releases.

MLflow is not imported to ask.
"""

from __future__ import annotations

import os
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.home import Run, all_runs

MIRRORED = "mirrored-releases.json"


def tracking_uri(home: Path) -> str:
    """`MLFLOW_TRACKING_URI`, or an SQLite file below the home folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home / 'mlflow.db'}"


def is_used(home: Path) -> bool:
    """Whether a server was named, or the home's own holds something."""
    return bool(os.environ.get("MLFLOW_TRACKING_URI")) or (home / "mlflow.db").is_file()


def is_tracked(run: Run, home: Path) -> bool:
    """Whether the run was sent to the present tracking server."""
    return mlflow_run_of(run, home) is not None


def mlflow_run_of(run: Run, home: Path) -> str | None:
    """What the run is called on the present tracking server, where it was sent there."""
    return run.links()["mlflow"].get(_digest(home))


def mark_tracked(run: Run, home: Path, mlflow_run: str) -> None:
    """Remember where the run went: by the digest of the server's address, which may hold a password."""
    run.link(mlflow={_digest(home): mlflow_run})


def untracked(home: Path) -> list[Run]:
    """Finished runs that have not been sent yet, the oldest first."""
    return [run for run in all_runs(home) if not is_tracked(run, home)]


def is_mirrored(releases: str, home: Path) -> bool:
    """Whether this state of the home's releases (a digest) is what the present server was told last."""
    return fs.read_memory(home / MIRRORED).get(_digest(home)) == releases


def mark_mirrored(releases: str, home: Path) -> None:
    """Remember what the present server was told of releases."""
    fs.change_memory(home / MIRRORED, lambda known: {**known, _digest(home): releases})


def _digest(home: Path) -> str:
    return fs.sha256(tracking_uri(home).encode())[:16]
