"""A pipeline as a Prefect flow: it runs what `sm-ops run` runs, with the same output and exit codes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from flows._process import INSIDE, end_with_parent, in_words, run_apart
from flows._settings import TAG, configure
from sm_ops.core import fs
from sm_ops.core.errors import SmOpsError, sanitise
from sm_ops.core.home import Run, home_folder
from sm_ops.release import after_run
from sm_ops.report.finish import finish
from sm_ops.runner import run_pipeline


def run_flow(config: dict[str, Any], home: Path, jobs: int | None = None) -> Run:
    """Run a resolved config as a flow. Raises the first failure as an `SmOpsError`, as the plain run does."""
    configure(home)
    from prefect import flow, tags
    from prefect.client.schemas.objects import State
    from prefect.states import Completed, Failed

    from flows._stage_task import TaskPool, only_answer

    answers: list[Run | SmOpsError] = []

    @flow(name=config["flow"], flow_run_name="{pipeline}", persist_result=False)
    def run_steps(pipeline: str, config_sha256: str) -> State[Any]:
        try:
            run = run_pipeline(config, home, jobs, TaskPool)
        except Exception as error:
            answers.append(sanitise(error))
            return Failed(message=str(answers[0]))
        answers.append(run)
        _tag_flow_run(TAG, config["name"], run.id)
        return Completed(message=f"run {run.id}")

    with tags(TAG, config["name"]), suppress(Exception):  # told below; Prefect's own words may hold anything
        run_steps(config["name"], fs.sha256(fs.canonical_json(config)), return_state=True)
    return only_answer(answers)


def _tag_flow_run(*tags: str) -> None:
    """The run's id is known when its steps are: only then can the flow run be found by it."""
    from uuid import UUID

    from prefect.client.orchestration import get_client
    from prefect.runtime import flow_run

    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(flow_run.id), tags=list(tags))


def main(module: str, arguments: list[str]) -> int:
    """`RESOLVED.json [JOBS]`: the flow in a process of its own, and there the flow and what follows a run.

    Every failure is one sentence; the exit codes are those of the plain run.
    """
    if INSIDE not in arguments:
        return run_apart(module, arguments)
    end_with_parent()

    def work() -> None:
        _, path, *jobs = arguments
        run = run_flow(fs.read_json(Path(path)), home_folder(), *map(int, jobs))
        finish(run, home_folder(), after_run.release)

    return in_words(work)
