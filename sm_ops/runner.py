"""Run a whole pipeline: its steps through the worker pool, then the run's file, report and tracking."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sm_ops.core.display import Display
from sm_ops.core.home import Run
from sm_ops.core.pool import Pool
from sm_ops.core.schedule import run_steps
from sm_ops.core.store import Store
from sm_ops.stages import plan


def default_jobs() -> int:
    """Workers at a time: one a core, and one alone where they would share a GPU."""
    from sm_ops.core.fingerprint import device_class

    return 1 if device_class() == "cuda" else os.cpu_count() or 1


def run_pipeline(config: dict[str, Any], home: Path, jobs: int | None = None) -> Run:
    """Make or find every step of a resolved config. Raises the first failure as an `SmOpsError`."""
    steps = plan(config)
    store = Store(home)
    jobs = jobs or default_jobs()
    with Display(len(steps)) as display, Pool(store, jobs, listener=display.heard) as pool:
        records = run_steps(steps, store, pool, jobs, display.finished)
    return Run.save(home, config, records)
