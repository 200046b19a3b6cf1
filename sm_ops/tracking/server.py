"""The tracking server: one client at a time, with bounded patience, and its failures in words."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from sm_ops.core.errors import InputError, SmOpsError
from sm_ops.tracking.spool import tracking_uri

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "sm-ops"
RUN_TAG = "sm_ops.run"
FLOW_TAG = "sm_ops.flow"
CONDITION_TAG = "sm_ops.condition"
"""Of the runs below a run alone: which row of its table they are."""
TIMEOUT = 10
"""Seconds that one request may take; it is tried twice."""


@contextmanager
def connected(home: Path, undone: str = "Nothing was sent", again: str = "sm-ops track push") -> Iterator[MlflowClient]:
    """MLflow's client, held against the home's other processes: two that make one database at a time break it.

    Whatever fails inside is an `InputError` that begins with `undone`, a sentence's beginning, says why, and names the
    command `again`.
    """
    lock = home / "locks" / "tracking.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(lock, timeout=6 * TIMEOUT):
            yield _client(tracking_uri(home))
    except SmOpsError:
        raise
    except Exception as error:
        raise InputError("tracking-failed", f"{undone}: {_why(error)}; send it later with: {again}") from None


def _why(error: Exception) -> str:
    """Never the library's own words: they may hold an address with a password, or what was sent."""
    if isinstance(error, Timeout):
        return "another process of this home is still talking to the tracking server"
    status = _status(error)
    if status == 401:
        return (
            "the tracking server does not take the name and password in MLFLOW_TRACKING_USERNAME and "
            "MLFLOW_TRACKING_PASSWORD"
        )
    if status == 403:
        return f"the tracking server does not let this user into experiment {EXPERIMENT}; its owner may grant EDIT"
    if status is None and _is_away(error):
        return "the tracking server does not answer"
    named = ", or MLFLOW_TRACKING_URI names none" if os.environ.get("MLFLOW_TRACKING_URI") else ""
    return f"the tracking server failed{named} ({status or type(error).__name__})"


def _status(error: Exception) -> int | None:
    """The HTTP status of an answer, where there was one that the libraries tell of."""
    from mlflow.exceptions import MlflowException

    if isinstance(error, MlflowException):
        return {"UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403}.get(error.error_code)
    return getattr(getattr(error, "response", None), "status_code", None)


def _is_away(error: BaseException | None) -> bool:
    """Whether a request failed somewhere below, before or within its answer; MLflow wraps what says so."""
    from requests import RequestException
    from requests.exceptions import RetryError

    while error is not None:
        if isinstance(error, RequestException):
            return not isinstance(error, RetryError)  # it answered, each time with a failure
        error = error.__cause__ or error.__context__
    return False


def _client(uri: str) -> MlflowClient:
    """Silent, and sending nothing about its use."""
    settings = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
        "MLFLOW_HTTP_REQUEST_TIMEOUT": str(TIMEOUT),
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    logging.getLogger("alembic").setLevel(logging.WARNING)
    return MlflowClient(tracking_uri=uri)
