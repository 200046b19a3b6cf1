"""Prefect's settings, in code and before it is imported: its home below ours, nothing sent, nothing kept of results."""

from __future__ import annotations

import os
from pathlib import Path

TAG = "sm-ops"
"""On every run of ours, and on all that `sm-ops deploy` makes."""

HEARTBEAT = 30
"""Seconds between the heartbeats of a run, Prefect's smallest number."""


def configure(home: Path) -> None:
    """Set what the user has not set. Logs stay out of Prefect's database: states say in one sentence what failed."""
    home.mkdir(parents=True, exist_ok=True)  # Prefect makes one level alone, and starts its server for ever without it
    settings = {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "true",
        "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)
