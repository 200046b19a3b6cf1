"""The tracking server: one client at a time, with bounded patience."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from sm_ops.tracking.spool import tracking_uri

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "sm-ops"
RUN_TAG = "sm_ops.run"
TIMEOUT = 10
"""Seconds that one request may take; it is tried twice."""


@contextmanager
def connected(home: Path) -> Iterator[MlflowClient]:
    """MLflow's client, held against the home's other processes: two that make one database at a time break it."""
    lock = home / "locks" / "tracking.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock, timeout=6 * TIMEOUT):
        yield _client(tracking_uri(home))


def _client(uri: str) -> MlflowClient:
    """Silent, and sending nothing about its use."""
    settings = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT),
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    logging.getLogger("alembic").setLevel(logging.WARNING)
    return MlflowClient(tracking_uri=uri)
