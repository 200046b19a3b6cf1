"""Deployed runs with a long training, what is disturbed in the middle of it, and what has to be true afterwards."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import httpx
from driving import ROOT, copy_home, hashes, run_cli, wait_for
from processes import arguments, living, variables

PIPELINE = ROOT / "tests" / "pipelines" / "pii_smallest.yaml"
LONG = {"tune.epochs": 20, "tune.checkpoint_steps": 5}
"""Some 40 optimiser steps, a quarter of a minute on a core of its own."""
TRAINED = "pii_tune"
MADE = {f"{TRAINED}@0"}
"""The step that is still to be made; those after it are found again, because it makes the same."""
POOL = "default"
FINAL = ("Completed", "Failed", "Crashed", "Cancelled", "Superseded")


class Api(Protocol):
    """A Prefect server's API as plain JSON."""

    def get(self, path: str) -> Any:
        """The answer to a request without a body."""

    def post(self, path: str, value: Any) -> Any:
        """The answer to a request with one."""


def undisturbed(home: Path) -> Path:
    """A home in which the run has come to its end once, from the command line."""
    settings = [word for name, value in LONG.items() for word in ("--set", f"{name}={value}")]
    done = run_cli("run", str(PIPELINE), "--jobs", "1", *settings, home=home)
    assert done.returncode == 0, done.stderr
    return home


def untrained(source: Path, home: Path) -> Path:
    """A copy in which the training is still to be done, with the config that deployed runs name."""
    copy_home(source, home, without=TRAINED)
    (home / "configs").mkdir(exist_ok=True)
    shutil.copy(PIPELINE, home / "configs" / "survival.yaml")
    return home


def forget_training(home: Path) -> None:
    """Let the training of a home be still to be done."""
    for root in ("store", "restricted"):
        shutil.rmtree(home / root / TRAINED, ignore_errors=True)


# ---- runs ----------------------------------------------------------------------------------------------


def begin(api: Api, **overrides: Any) -> str:
    """Start the run by hand; its id."""
    found = api.get("deployments/name/pii/on-demand")
    parameters = {"config": "survival", "overrides": LONG | overrides}
    return api.post(f"deployments/{found['id']}/create_flow_run", {"parameters": parameters})["id"]


def state(api: Api, run: str) -> str:
    """The name of a run's state; empty while the server is away."""
    with suppress(httpx.TransportError, httpx.HTTPStatusError):
        return api.get(f"flow_runs/{run}")["state_name"]
    return ""


def message(api: Api, run: str) -> str:
    """What the state says."""
    return api.get(f"flow_runs/{run}")["state"]["message"] or ""


def ends(api: Api, run: str, seconds: float) -> str:
    """The name of a run's last state."""
    wait_for(lambda: state(api, run) in FINAL, seconds)
    return state(api, run)


def training(home: Path) -> bool:
    """Whether a training has begun, or is about to."""
    return any((home / "restricted" / ".scratch").glob("*/layout.json"))


def checkpoints(home: Path) -> set[str]:
    """Whole checkpoints of trainings that are going on or were cut short."""
    return {file.parent.name for file in (home / "restricted" / ".scratch").glob("*/*/trainer_state.json")}


def under_way(api: Api, home: Path, **overrides: Any) -> str:
    """A run whose training has written a checkpoint, well before its end."""
    run = begin(api, **overrides)
    wait_for(lambda: checkpoints(home) or state(api, run) in FINAL, 150)
    assert state(api, run) == "Running", message(api, run)
    return run


# ---- processes -----------------------------------------------------------------------------------------


def of_run(home: Path) -> list[int]:
    """What lives of the home's deployed runs: flow processes, their steps' workers, and ranks of a training."""
    return [pid for pid in living() if _is_of_run(variables(pid), home)]


def _is_of_run(environment: Iterable[str], home: Path) -> bool:
    own = list(environment)
    return f"SM_OPS_HOME={home}" in own and any(each.startswith("PREFECT__FLOW_RUN_ID=") for each in own)


def flow_processes(home: Path) -> list[int]:
    """The processes in which the flows themselves run."""
    return [pid for pid in of_run(home) if any(word.startswith("prefect.") for word in arguments(pid))]


def prefect_worker(home: Path) -> int:
    """Prefect's worker of a home."""
    mine = (pid for pid in living() if f"SM_OPS_HOME={home}" in variables(pid))
    (found,) = [pid for pid in mine if {"prefect", "worker", "start"} <= set(arguments(pid))]
    return found


def kill(*pids: int) -> None:
    """As the kernel kills."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# ---- afterwards ----------------------------------------------------------------------------------------


def nothing_left(api: Api, home: Path, seconds: float = 30) -> None:
    """No process of a run lives, and no slot of the pool is taken."""
    wait_for(lambda: not of_run(home), seconds)
    wait_for(lambda: api.post(f"work_pools/{POOL}/concurrency_status", {})["active_slots"] == 0, seconds)


def made_by(api: Api, run: str) -> set[str]:
    """Steps that a run has made itself, and not found."""
    found = api.post("task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
    return {task["name"] for task in found if task["state_name"] == "Completed"}


def again_and_equal(api: Api, home: Path, source: Path, seconds: float = 150) -> None:
    """The same run once more makes what was not finished, and nothing else, and comes to the undisturbed results."""
    run = begin(api)
    assert ends(api, run, seconds) == "Completed", message(api, run)
    wait_for(lambda: made_by(api, run), 30)  # the server takes note of tasks when it comes to it
    assert made_by(api, run) == MADE
    assert hashes(home) == hashes(source)
    nothing_left(api, home)


def whole_and_equal(api: Api, run: str, home: Path, source: Path, seconds: float = 180) -> None:
    """The run itself comes to its end and to the undisturbed results."""
    assert ends(api, run, seconds) == "Completed", message(api, run)
    assert hashes(home) == hashes(source)
    nothing_left(api, home)
