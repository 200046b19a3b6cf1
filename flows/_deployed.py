"""The flows as deployments start them: module-level, with the name of a config, seeds and overrides as parameters.

What a run came to is its last state and a sentence: completed, failed, or cancelled by the name `Superseded`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect import Flow, flow
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.context import FlowRunContext
from prefect.states import Cancelled, Completed, Failed, Running

from flows._due import superseded
from flows._stage_task import TaskPool
from sm_ops.core import exclusive
from sm_ops.core.config.deployments import resolved
from sm_ops.core.errors import InputError, sanitise
from sm_ops.core.home import Run, home_folder
from sm_ops.core.orchestration import SUPERSEDED
from sm_ops.release import after_run
from sm_ops.report.finish import finish
from sm_ops.runner import run_pipeline

WAITING = "Waiting for a GPU"
"""The name of the state of a run while another process computes on its GPU."""


def _deployed(name: str) -> Flow[..., State[Any]]:
    @flow(name=name, flow_run_name="{config}", persist_result=False, validate_parameters=False)
    def deployed(config: str, seeds: list[int] | None = None, overrides: dict[str, Any] | None = None) -> State[Any]:
        _leave_with_worker()
        try:
            return _run(name, config, seeds, overrides)
        except Exception as error:
            return Failed(message=str(sanitise(error)))

    return deployed


surprise, pii, audit, sanitize, ranking, rewriting = map(
    _deployed, ("surprise", "pii", "audit", "sanitize", "ranking", "rewriting")
)


def _leave_with_worker() -> None:
    """Be asked to leave, as by SIGTERM, when the worker that started this process has died: report it, save and end.

    Nobody reads any longer what is printed, which would fail.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _run(name: str, config: Any, seeds: Any, overrides: Any) -> State[Any]:
    context = FlowRunContext.get()
    assert context is not None
    assert context.flow_run is not None
    with get_client(sync_client=True) as client:
        if told := superseded(context.flow_run, client):
            return Cancelled(name=SUPERSEDED, message=told)
        home = _home()
        plain = resolved(name, config, seeds, overrides, home)
        with _gpus(context.flow_run, client):
            run = run_pipeline(plain, home, workers=TaskPool)
        _tag(run, context.flow_run, client)
    finish(run, home, after_run.release)
    return Completed(message=f"run {run.id}")


def _home() -> Path:
    """The home folder that the worker's environment names: its present folder is one that ends with the run."""
    if not os.path.isabs(os.environ.get("SM_OPS_HOME", "")):
        hint = "The worker does not say where the home folder is; start it with an absolute path in SM_OPS_HOME."
        raise InputError("no-home", hint)
    return home_folder()


@contextmanager
def _gpus(run: FlowRun, client: SyncPrefectClient) -> Iterator[None]:
    """Compute alone on the GPUs of this process; while another does, the state's name says so."""

    def waiting(sentence: str) -> None:
        told.append(sentence)
        client.set_flow_run_state(run.id, Running(name=WAITING, message=sentence), force=True)

    told: list[str] = []
    with exclusive.held(exclusive.gpus(), waiting):
        if told:
            client.set_flow_run_state(run.id, Running(), force=True)
        yield


def _tag(run: Run, flow_run: FlowRun, client: SyncPrefectClient) -> None:
    client.update_flow_run(flow_run.id, tags=[*flow_run.tags, run.name, run.id])
