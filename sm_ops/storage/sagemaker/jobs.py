"""Submit a job at most once, look after it, stop it.

The job's name is fixed before the service is asked, so whether an unanswered submission arrived can be found out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sm_ops.core.errors import InputError
from sm_ops.storage.sagemaker.journal import Entry, Journal
from sm_ops.storage.sagemaker.request import REQUEST, outputs_of
from sm_ops.storage.sagemaker.service import Absent, Taken, Unanswered

ARRIVES = 15 * 60
"""Seconds after which a job that the service does not know has not arrived."""
ENDED = ("Completed", "Failed", "Stopped")
Json = dict[str, Any]


class Executor(Protocol):
    """SageMaker, or `local`, which carries out the same requests."""

    def read(self, operation: str, **arguments: Any) -> Json:
        """A call that may be repeated."""
        ...

    def change(self, operation: str, **arguments: Any) -> Json:
        """A call that must not."""
        ...


def next_attempt(journal: Journal, series: str, executor: Executor) -> int:
    """The number of the attempt at this work that is due: one that was only planned, or a new one.

    Raises `InputError` where one is under way or done, and where nobody knows yet.
    """
    attempts = journal.attempts(series)
    if not attempts:
        return 1
    last = attempts[-1]
    if last.state in ("submitting", "submitted"):
        status(last, executor)
    if last.state == "planned":
        return len(attempts)
    if last.state == "submitted":
        hint = f"The job {last.name} does this very work already; see: sm-ops sagemaker status {last.name}"
        raise InputError("job-runs", hint)
    if last.state == "ended" and last.states[-1]["status"] == "Completed":
        hint = f"The job {last.name} has done this very work; see: sm-ops sagemaker export {last.name}"
        raise InputError("job-done", hint)
    return len(attempts) + 1


def submit(entry: Entry, executor: Executor) -> None:
    """Ask for the job, once. Raises `InputError` where it was refused, or where nobody knows."""
    entry.enter("submitting")
    try:
        answer = executor.change("create_training_job", **entry.request)
    except (Taken, Unanswered):
        settle(entry, executor)
    except InputError as error:
        entry.enter("refused", code=error.code)
        raise
    else:
        entry.enter("submitted", arn=answer["TrainingJobArn"])


def settle(entry: Entry, executor: Executor) -> None:
    """Find out whether an unanswered submission arrived. Raises `InputError` where that cannot be known yet."""
    try:
        found = executor.read("describe_training_job", TrainingJobName=entry.name)
    except Absent:
        if entry.age < ARRIVES:
            hint = (
                f"SageMaker gave no answer to the job {entry.name} and does not know it yet; whether it took it is not "
                f"known, so it is not submitted again. Ask later: sm-ops sagemaker status {entry.name}"
            )
            raise InputError("job-unknown", hint) from None
        entry.enter("not-arrived")
        return
    if found.get("HyperParameters", {}).get(REQUEST) != entry.request["HyperParameters"][REQUEST]:
        entry.enter("refused", code="name-taken")
        hint = f"Another job of this account is named {entry.name}; run the same command again for the next number."
        raise InputError("name-taken", hint)
    entry.enter("submitted", arn=found["TrainingJobArn"])


def status(entry: Entry, executor: Executor) -> Json:
    """What the service says of a job, as plain values; what has ended is noted in the journal."""
    if entry.state == "submitting":
        settle(entry, executor)
    shown: Json = {"name": entry.name, "state": entry.state, "since": entry.states[-1]["at"]}
    if entry.state in ("planned", "refused", "not-arrived"):
        return shown
    try:
        found = executor.read("describe_training_job", TrainingJobName=entry.name)
    except Absent:
        hint = f"SageMaker does not know the job {entry.name} any more; check account and region of the credentials."
        raise InputError("job-lost", hint) from None
    now = found["TrainingJobStatus"]
    if entry.state == "submitted" and now in ENDED:
        entry.enter("ended", status=now)
    transitions = found.get("SecondaryStatusTransitions", [])
    return {
        **shown,
        "state": entry.state,
        "status": now,
        "doing": found.get("SecondaryStatus", now),
        "interruptions": sum(each["Status"] == "Interrupted" for each in transitions),
        "billed_seconds": found.get("BillableTimeInSeconds"),
        "training_seconds": found.get("TrainingTimeInSeconds"),
        "failure": found.get("FailureReason"),
        "results": outputs_of(entry.request) if now == "Completed" else None,
    }


def stop(entry: Entry, executor: Executor, told: Callable[[str], None] = lambda text: None) -> Json:
    """Ask a job to end; it writes its checkpoint, and a later attempt goes on from there."""
    found = status(entry, executor)
    if found.get("status") in (*ENDED, "Stopping") or "status" not in found:
        told(f"{entry.name} does not run, so there is nothing to stop")
        return found
    executor.read("stop_training_job", TrainingJobName=entry.name)
    return status(entry, executor)
