"""Prefect's settings, in code and before it is imported: its home below ours, nothing sent, nothing kept of results."""

from __future__ import annotations

import os
from pathlib import Path

from sm_ops.core import orchestration

TAG = "sm-ops"
"""On every run of ours, and on all that `sm-ops deploy` makes."""


def configure(home: Path) -> None:
    """Set what the user has not set."""
    home.mkdir(parents=True, exist_ok=True)  # Prefect makes one level alone, and starts its server for ever without it
    settings = {
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        **orchestration.SETTINGS,
        **orchestration.SILENT,
        "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)
