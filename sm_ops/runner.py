"""Run a pipeline or one of its steps: through the worker pool, or from what is stored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sm_ops.core.display import Display
from sm_ops.core.errors import InputError
from sm_ops.core.fingerprint import device_class
from sm_ops.core.home import Run
from sm_ops.core.pool import Pool
from sm_ops.core.registry import did_you_mean
from sm_ops.core.schedule import look_up, run_steps
from sm_ops.core.stage import Step
from sm_ops.core.store import Record, Store
from sm_ops.core.usage import Usage
from sm_ops.plans import plan
from sm_ops.versioning import export


def default_jobs() -> int:
    """Workers at a time: one a core, and one alone where they would share a GPU."""
    return 1 if device_class() == "cuda" else os.cpu_count() or 1


def run_pipeline(config: dict[str, Any], home: Path, jobs: int | None = None, workers: type[Pool] = Pool) -> Run:
    """Make or find every step of a resolved config. Raises the first failure as an `SmOpsError`."""
    steps = plan(config)
    store = Store(home)
    jobs = jobs or default_jobs()
    with Usage(home) as usage, Display(len(steps)) as display, workers(store, jobs, listener=display.heard) as pool:
        records = run_steps(steps, store, pool, jobs, display.finished)
    run = Run.save(home, config, records)
    usage.save(run.folder)
    return run


def run_stage(name: str, config: dict[str, Any], home: Path, out: Path | None = None) -> Record:
    """Make or find one step whose inputs are stored; `out`, where it takes one, also gets a hard-linked export."""
    steps = {step.name: step for step in plan(config)}
    step = find_step(steps, name)
    if out is not None:
        export.check(name, step.stage.outputs, out)
    store = Store(home)
    needed = _ancestors(steps, step)
    upstream: dict[str, Record] = {}
    for each in (s for s in steps.values() if s.name in needed):
        found = look_up(each, upstream, store)
        if found is None:
            raise InputError(
                "input-missing",
                f"Step {name} needs {each.name}, which is not stored; run first, with the same options: "
                f"sm-ops stage {each.name}",
            )
        upstream[each.name] = found
    with Display(1) as display, Pool(store, 1, listener=display.heard) as pool:
        record = run_steps([step], store, pool, 1, display.finished, upstream)[name]
    if out is not None:
        export.export(store, name, record, out)
    return record


def reader_of(name: str, config: dict[str, Any]) -> str | None:
    """The first step of a pipeline that reads the step `name`."""
    return next((step.name for step in plan(config) if name in step.upstream), None)


def find_step(steps: dict[str, Step], name: str) -> Step:
    """A step by name, or an `InputError` with the nearest names."""
    if name not in steps:
        near = f"a config is named by --config {name}" if name.endswith(".yaml") else did_you_mean(name, steps)
        raise InputError("unknown-step", f"The pipeline has no step {name!r}; {near}.")
    return steps[name]


def _ancestors(steps: dict[str, Step], step: Step) -> set[str]:
    found: set[str] = set()
    todo = list(step.upstream)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += steps[name].upstream
    return found
