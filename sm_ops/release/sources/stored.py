"""What the sources of a run share: its stored steps, and its config as it may be told."""

from __future__ import annotations

from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.core.store import Record, Store
from sm_ops.release import lineage
from sm_ops.tracking.allowed import without_places
from sm_ops.tracking.sent import Sent

Json = dict[str, Any]


def record_of(run: Run, store: Store, step: str) -> Record:
    """The stored result of a step; `InputError` where the run has none, or it is no longer stored."""
    if step not in run.steps:
        hint = f"Run {run.id} is of a version that redacted nothing; run the pipeline again with: sm-ops run"
        raise InputError("no-redaction", hint)
    found = store.find(run.steps[step]["stage"], run.steps[step]["fingerprint"])
    if found is None:
        hint = f"Run {run.id}: step {step} is no longer stored as it was; run the pipeline again with: sm-ops run"
        raise InputError("output-missing", hint)
    return found


def pipeline_of(run: Run, sent: Sent) -> Json:
    """The run's config without the names of files and folders, as runs are tracked, and without what is said apart."""
    told = without_places(run.config, sent.places, sent.models)
    return {key: value for key, value in told.items() if key != "release"}


def lineage_of(run: Run, store: Store, redact: Record, shard: str) -> Json:
    """How the redacted text of a run came about, and that of it id and text alone became a shard."""
    said = f"Of each record, id and text alone were copied to data/{shard}."
    released = lineage.entry("release", said, {"redacted.jsonl": redact.hash_of("redacted.jsonl")}, {})
    return lineage.lineage([*lineage.chain(run, store, redact), released])
