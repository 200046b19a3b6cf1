"""The services of the home's local stack, or those that the environment names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from sm_ops.health.row import Row
from sm_ops.stack.client import use
from sm_ops.stack.state import services

_NAMED = ("PREFECT_API_URL", "MLFLOW_TRACKING_URI")


def rows(home: Path) -> Iterator[Row]:
    """One row a service of the stack, whose servers the later checks ask; without a stack, which servers are named."""
    use(home)
    running = services(home)
    for each in running:
        well = each.state == "RUNNING"
        told = f"{each.state.lower()} since {each.since}, process {each.pid}" if well else each.state.lower()
        advice = "" if well else f"; see: sm-ops serve logs {each.name}"
        yield Row("service", well, f"{each.name}: {told}{f', {each.url}' if each.url else ''}{advice}")
    if not running:
        named = [f"{name} at {_place(os.environ[name])}" for name in _NAMED if os.environ.get(name)]
        yield Row("services", True, ", ".join(named) or "none; start them here with: sm-ops serve")


def _place(url: str) -> str:
    """A server's address without what may be a password in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
