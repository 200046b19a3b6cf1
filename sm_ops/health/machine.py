"""The machine: versions of what matters, devices, memory and disk."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sm_ops.health.row import Row

_SHOWN = ("sm-ops", "torch", "transformers", "peft", "prefect", "mlflow", "dvc")
_NEEDED = 1e9
"""Bytes of free disk without which no run should begin."""


def rows(home: Path) -> Iterator[Row]:
    """Python and libraries, processors, disk."""
    versions = {name: found for name in _SHOWN if (found := _version(name))}
    told = ", ".join([f"python {platform.python_version()}", *(f"{name} {found}" for name, found in versions.items())])
    if "torch" not in versions:
        yield Row("versions", False, f"{told}; torch is not installed: see docs/architecture.md, Environment")
    else:
        yield Row("versions", True, told)
        yield Row("devices", True, _devices())
    there = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(there).free
    few = "" if free > _NEEDED else "; runs need 1 GB or more"
    yield Row("disk", free > _NEEDED, f"{free / 1e9:.1f} GB free below {there}{few}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _devices() -> str:
    import psutil

    from sm_ops.scoring.arithmetic import gpus

    memory = psutil.virtual_memory().total / 2**30
    return ", ".join([f"{os.cpu_count()} cores with {memory:.0f} GiB", *(gpus() or ["no GPU"])])
