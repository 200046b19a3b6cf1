"""What there is, and what would run: the rows behind `sm-ops ls` and `sm-ops show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.config import load_pipeline, presets, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.execute import identify, why_again
from sm_ops.core.home import Run, all_runs, home_folder, unreadable_runs
from sm_ops.core.registry import KINDS, did_you_mean, members
from sm_ops.core.schedule import look_up
from sm_ops.core.stage import Stage
from sm_ops.core.store import Record, Store
from sm_ops.plans import plan
from sm_ops.runner import find_step
from sm_ops.stages import STAGES


def listing(what: str, config: str) -> list[dict[str, Any]]:
    """Rows of one list; `InputError` names the lists there are."""
    kind = next((kind for kind in KINDS if what in (kind, _plural(kind))), None)
    if kind is not None:
        return [{"name": name, "module": module} for name, module in members(kind).items()]
    lists = {
        "stages": lambda: [_stage_row(stage) for stage in STAGES],
        "steps": lambda: [
            {"name": step.name, "reads": ", ".join(sorted(step.upstream))}
            for step in plan(resolve(load_pipeline(config)))
        ],
        "runs": _run_rows,
        "presets": lambda: [{"name": name} for name in presets()],
    }
    if what not in lists:
        known = [*lists, *map(_plural, KINDS)]
        raise InputError("unknown-list", f"There is no list {what!r}; {did_you_mean(what, known)}.")
    return lists[what]()


def _run_rows() -> list[dict[str, Any]]:
    """Runs that can be read; then those that cannot, and why."""
    home = home_folder()
    rows = [{"id": run.id, "finished": run.finished} for run in all_runs(home)]
    return rows + [{"id": name, "unreadable": error.hint} for name, error in unreadable_runs(home).items()]


def _plural(kind: str) -> str:
    return "corpora" if kind == "corpus" else f"{kind}s"


def states(config: dict[str, Any], home: Path, only: str | None) -> list[dict[str, Any]]:
    """Each step as `stored`, `would run` with reasons in words, or `waits` for a step that would run."""
    steps = {step.name: step for step in plan(config)}
    if only is not None:
        find_step(steps, only)
    store = Store(home)
    records: dict[str, Record] = {}
    rows = []
    for step in steps.values():
        row = {"step": step.name, "state": "stored", "reasons": []}
        waiting = sorted(step.upstream - records.keys())
        if waiting:
            row |= {"state": "waits", "reasons": [f"step {name} would run first" for name in waiting]}
        elif found := look_up(step, records, store):
            records[step.name] = found
            row["result"] = found.id
        else:
            reasons = why_again(step, identify(step, records)[0], store) or ("it was never run here",)
            row |= {"state": "would run", "reasons": list(reasons)}
        rows.append(row)
    return [row for row in rows if only in (None, row["step"])]


def is_step(name: str, config: dict[str, Any]) -> bool:
    """Whether a pipeline has a step of this name."""
    return any(step.name == name for step in plan(config))


def run_of(rows: list[dict[str, Any]], home: Path) -> Run | None:
    """The finished run whose steps are exactly these stored results."""
    results = {row["step"]: row.get("result") for row in rows}
    return next((run for run in reversed(all_runs(home)) if _results(run) == results), None)


def _results(run: Run) -> dict[str, str]:
    return {name: step["fingerprint"][:16] for name, step in run.steps.items()}


def chain(run: Run) -> dict[str, str]:
    """What belongs to a run, in the order in which one leads to the next; each of them finds the run in `sm-ops show`.

    Absent is what is not known.
    """
    links = run.links()
    mlflow = ", ".join(sorted(set(links["mlflow"].values())))
    known = {"git": links["git"], "run": run.id, "data": links["data"], "mlflow": mlflow}
    return {name: value for name, value in known.items() if value}


def _stage_row(stage: Stage) -> dict[str, Any]:
    return {
        "name": stage.name,
        "version": stage.version,
        "reads": ", ".join(stage.sections),
        "writes": ", ".join(f"{output.name} ({output.cls})" for output in stage.outputs),
    }
