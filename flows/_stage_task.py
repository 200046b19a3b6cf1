"""Stage -> Prefect task: the same workers execute it, and Prefect learns names, hashes and sentences, never data."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from sm_ops.core.display import show_number
from sm_ops.core.errors import InputError, SmOpsError, sanitise
from sm_ops.core.execute import Outcome
from sm_ops.core.pool import Pool
from sm_ops.core.stage import Step
from sm_ops.core.store import Record

T = TypeVar("T")


class TaskPool(Pool):
    """A pool of workers whose every step runs as a task of the flow in which the pool was made.

    Prefect neither caches nor keeps results (DESIGN, law 2): what is stored already never becomes a task.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._flow = copy_context()
        self._states: dict[str, State[Any]] = {}

    def run(self, step: Step, upstream: dict[str, Record]) -> Outcome:
        """Execute one step as a task after those that it reads. Callable from any thread."""
        return self._flow.copy().run(self._run_task, step, upstream)

    def _run_task(self, step: Step, upstream: dict[str, Record]) -> Outcome:
        answers: list[Outcome | SmOpsError] = []

        @task(name=step.stage.name, task_run_name=step.name, cache_policy=NO_CACHE, persist_result=False)
        def run_stage() -> State[Any]:
            try:
                outcome = Pool.run(self, step, upstream)
            except Exception as error:
                answers.append(sanitise(error))
                return Failed(message=str(answers[0]))
            answers.append(outcome)
            return Completed(message=_summary(step, outcome))

        before = [self._states[name] for name in sorted(step.upstream) if name in self._states]
        with suppress(Exception):  # told below
            self._states[step.name] = run_stage(wait_for=before, return_state=True)
        return only_answer(answers)


def only_answer(answers: Sequence[T | SmOpsError]) -> T:
    """What a task or a flow left behind: its result, or its failure raised without cause or context."""
    if not answers:
        raise InputError(
            "prefect-failed",
            "Prefect's server did not start, ended, or refused the run; run the same command again, finished steps "
            "are found, or run without --orchestrate.",
        )
    if isinstance(answers[0], SmOpsError):
        raise answers[0]
    return answers[0]


def _summary(step: Step, outcome: Outcome) -> str:
    """The time and the key number of a step, as the command line shows them."""
    key, record = step.stage.key, outcome.record
    return f"{record.seconds:.1f} s" + (f", {key} {show_number(record.numbers.get(key))}" if key else "")
