"""Remove what jobs left in the bucket, by the journal; what may not be looked at is never taken for absent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from sm_ops.core.errors import InputError
from sm_ops.storage.sagemaker.buckets import Buckets
from sm_ops.storage.sagemaker.journal import Entry
from sm_ops.storage.sagemaker.request import outputs_of

State = Literal["present", "absent", "removed", "unknown"]
OVER = ("planned", "refused", "not-arrived", "ended", "removed")


@dataclass(frozen=True)
class Thing:
    """A prefix of the bucket, and whether anything is below it; `unknown` with the refusal."""

    uri: str
    state: State
    detail: str
    buckets: Buckets = field(repr=False)

    def to_json(self) -> dict[str, str]:
        """What a program may read."""
        return {"uri": self.uri, "state": self.state, "detail": self.detail}


def belongings(entry: Entry) -> dict[str, str]:
    """Prefixes that a job reads or writes, and what each is."""
    job = entry.request
    sources = (each["DataSource"]["S3DataSource"]["S3Uri"] for each in job["InputDataConfig"])
    results = outputs_of(job).removesuffix("output/")
    return {**dict.fromkeys(sources, "inputs"), job["CheckpointConfig"]["S3Uri"]: "checkpoints", results: "results"}


def to_remove(chosen: list[Entry], every: Iterable[Entry]) -> list[Thing]:
    """What is there of the chosen jobs and is needed by no other. Raises `InputError` for a job that runs."""
    if running := [entry.name for entry in chosen if entry.state not in OVER]:
        hint = f"{running[0]} may still run ({len(running)} of the chosen jobs); first: sm-ops sagemaker status or stop"
        raise InputError("job-runs", hint)
    names = {entry.name for entry in chosen}
    others = [entry for entry in every if entry.name not in names and entry.state != "removed"]
    needed = {uri for entry in others for uri in belongings(entry)}
    buckets = {entry.inventory["account"]: Buckets(entry.inventory["account"]) for entry in chosen}
    found = {uri: buckets[entry.inventory["account"]] for entry in chosen for uri in belongings(entry)}
    return [_looked_at(uri, found[uri]) for uri in sorted(found.keys() - needed)]


def remove(things: list[Thing]) -> list[Thing]:
    """Every version of every object, and unfinished uploads; each prefix is looked at again afterwards."""
    return [_removed(thing) if thing.state == "present" else thing for thing in things]


def _removed(thing: Thing) -> Thing:
    try:
        thing.buckets.at(thing.uri).remove("")
    except InputError as error:
        return replace(thing, state="unknown", detail=str(error))
    after = _looked_at(thing.uri, thing.buckets)
    return replace(thing, state="removed") if after.state == "absent" else after


def _looked_at(uri: str, buckets: Buckets) -> Thing:
    bucket, prefix = buckets.split(uri)
    try:
        kinds = ("Versions", "DeleteMarkers")
        objects = sum(1 for kind in kinds for _ in bucket.pages("list_object_versions", kind, Prefix=prefix))
    except InputError as error:
        return Thing(uri, "unknown", str(error), buckets)
    return Thing(uri, "present" if objects else "absent", f"{objects} versions of objects", buckets)
