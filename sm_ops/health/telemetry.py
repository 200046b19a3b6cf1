"""Whether a library was told to report its use: ours are switched off in code, which the environment can undo."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sm_ops.health.row import Row

_OFF = {
    "DO_NOT_TRACK": ("1", "true"),
    "PREFECT_SERVER_ANALYTICS_ENABLED": ("0", "false"),
    "MLFLOW_DISABLE_TELEMETRY": ("1", "true"),
    "DVC_NO_ANALYTICS": ("1", "true"),
    "HF_HUB_DISABLE_TELEMETRY": ("1", "true"),
    "RAY_USAGE_STATS_ENABLED": ("0", "false"),
}
"""Variables that decide it, and the values that say no."""


def rows(home: Path) -> Iterator[Row]:
    """One row: the variables that were set to another value."""
    undone = [name for name, off in _OFF.items() if os.environ.get(name, off[0]).lower() not in off]
    yield Row("telemetry", not undone, f"on by {', '.join(undone)}; unset that" if undone else "off")
