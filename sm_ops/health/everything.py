"""All rows of one screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sm_ops.core.errors import SmOpsError
from sm_ops.health import home as home_folder
from sm_ops.health import machine, remote, runs, schedules, services, telemetry, vault
from sm_ops.health.row import Row

_CHECKS = (machine, home_folder, services, schedules, runs, vault, telemetry)


def all_rows(home: Path, ask_remote: bool = False) -> Iterator[Row]:
    """What every check says of a home; `ask_remote` also asks the remotes of its data."""
    for check in (*_CHECKS, *([remote] if ask_remote else [])):
        try:
            yield from check.rows(home)
        except SmOpsError as error:
            yield Row(check.__name__.rpartition(".")[2], False, error.hint)
