"""Run one step: find its result in the store, or make it under the result's lock and publish it whole."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from sm_ops.core import fs
from sm_ops.core.drift import explain
from sm_ops.core.errors import StageError, full_disk, sanitise
from sm_ops.core.fingerprint import fingerprint, payload
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context, Step
from sm_ops.core.store import Record, Store
from sm_ops.core.types import Progress, unheard


@dataclass(frozen=True)
class Outcome:
    """A step's record, whether it was found, and why it ran again if an older result exists."""

    record: Record
    found: bool
    reasons: tuple[str, ...] = ()


def identify(step: Step, upstream: dict[str, Record]) -> tuple[dict, str]:
    """The step's identity payload and fingerprint, given the records of the steps it reads."""
    hashes = {name: upstream[source].hash_of(output) for name, (source, output) in step.inputs.items()}
    identity = payload(step, hashes)
    return identity, fingerprint(identity)


def why_again(step: Step, identity: dict, store: Store) -> tuple[str, ...]:
    """Why a step that was run before has to run again, in words; empty where it never ran."""
    if store.has_remains(step.stage.name, fingerprint(identity)):
        return ("its stored files are missing or damaged",)
    older = store.newest(step.name, step.stage.name)
    return tuple(explain(older.payload, identity)) if older else ()


def execute(
    step: Step,
    upstream: dict[str, Record],
    store: Store,
    progress: Progress = unheard,
    waiting: Callable[[str], None] = lambda sentence: None,
    failed: Callable[[Exception], None] = lambda error: None,
) -> Outcome:
    """Find or make the step's result. Whatever fails comes out as an `SmOpsError` without cause or values.

    Only `failed` hears the original exception, whose text may hold data.
    """
    try:
        return _execute(step, upstream, store, progress, waiting)
    except Exception as error:
        failed(error)
        sanitised = sanitise(error)
        if not isinstance(sanitised, StageError) and store.home.exists() and fs.is_full(store.home):
            sanitised = full_disk(store.home)  # whatever the libraries made of it
    raise sanitised


def _execute(
    step: Step, upstream: dict[str, Record], store: Store, progress: Progress, waiting: Callable[[str], None]
) -> Outcome:
    identity, print_ = identify(step, upstream)
    with store.lock(step, print_, waiting):
        if record := store.find(step.stage.name, print_):
            return Outcome(record, found=True)
        reasons = why_again(step, identity, store)
        with store.workspace(step, print_) as workspace:
            context = Context(
                inputs={n: store.output_path(upstream[s], o) for n, (s, o) in step.inputs.items()},
                outputs={output.key: workspace.path(output) for output in step.stage.outputs},
                scratch=workspace.scratch,
                progress=progress,
            )
            function = step.stage.load()  # importing libraries is not the step's own time
            started = time.monotonic()
            numbers = function(Settings(step.settings), context)
            record = Record(
                step=step.name,
                stage=step.stage.name,
                fingerprint=print_,
                payload=identity,
                outputs={o.name: store.describe(o, workspace.path(o)) for o in step.stage.outputs},
                numbers=numbers,
                seconds=round(time.monotonic() - started, 3),
                finished=datetime.now(UTC).isoformat(timespec="milliseconds"),
            )
            store.commit(record, workspace)
        return Outcome(record, found=False, reasons=reasons)
