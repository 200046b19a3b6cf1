"""Releases on the tracking server: a mirror of their signed records, which nothing reads back to decide.

A release NAME@VERSION is a version of the registered model `release-NAME`, tagged with its name, its manifest's digest
and its state; each of the aliases `requested`, `approved` and `published` stands at the last version in that state, if
there is one. The run that a release was made from carries the tag `sm_ops.release/NAME/VERSION` with the state. Each
mirroring sets all of it again, so what was changed on the server, or missed while it was away, is set right by the next
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.tracking.server import CONDITION_TAG, EXPERIMENT, RUN_TAG, connected
from sm_ops.tracking.spool import mark_mirrored

if TYPE_CHECKING:
    from mlflow import MlflowClient

ALIASES = ("requested", "approved", "published")
RELEASE_TAG = "sm_ops.release"
_DESCRIPTION = "A mirror of signed records. Whether a release may be used, its files say: sm-ops release verify"


@dataclass(frozen=True)
class Facts:
    """What the server may know of a release: names, its state, and the SHA-256 of its manifest."""

    name: str
    version: str
    state: str
    manifest: str
    run: str | None = None

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def tags(self) -> dict[str, str]:
        """The tags of its version in the registry."""
        return {RELEASE_TAG: str(self), "sm_ops.manifest": self.manifest, "sm_ops.state": self.state}


def digest(releases: Sequence[Facts]) -> str:
    """SHA-256 of what is to be mirrored."""
    return fs.sha256(fs.canonical_json([asdict(facts) for facts in releases]))


def mirror(releases: Sequence[Facts], home: Path) -> list[str]:
    """Mirror releases; the names of those that the server knew otherwise. `InputError` where it takes nothing now."""
    by_name = [(name, list(each)) for name, each in groupby(releases, key=lambda facts: facts.name)]
    if not by_name:
        return []
    with connected(home, "The releases stand as they are, but were not mirrored in MLflow") as client:
        changed = [release for name, each in by_name for release in _mirror(client, name, each)]
        mark_mirrored(digest(releases), home)
        return changed


def _mirror(client: MlflowClient, name: str, releases: list[Facts]) -> list[str]:
    """All releases of a name."""
    model = _model(client, name)
    known = {version.tags.get(RELEASE_TAG): version for version in client.search_model_versions(f"name = '{model}'")}
    changed = []
    for facts in releases:
        run = _run(client, facts)
        version = known.get(str(facts))
        if version is None:
            version = client.create_model_version(model, f"release:/{facts}", run_id=run, tags=facts.tags)
            known[str(facts)] = version
            changed.append(str(facts))
        elif version.tags != facts.tags:
            for key, value in facts.tags.items():
                client.set_model_version_tag(model, version.version, key, value)
            changed.append(str(facts))
    ours = {str(known[str(facts)].version) for facts in releases}
    last = {facts.state: str(known[str(facts)].version) for facts in releases}
    _set_aliases(client, model, last, ours)
    return changed


def _model(client: MlflowClient, name: str) -> str:
    """The registered model of the releases of a name, made when missing."""
    from mlflow.exceptions import MlflowException

    model = f"release-{name}"
    try:
        client.create_registered_model(model, description=_DESCRIPTION)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
    return model


def _run(client: MlflowClient, facts: Facts) -> str | None:
    """The MLflow run of the run that a release was made from, tagged with the release's state."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if facts.run is None or experiment is None:
        return None
    found = client.search_runs([experiment.experiment_id], f"tags.`{RUN_TAG}` = '{facts.run}'")
    parents = [run.info.run_id for run in found if CONDITION_TAG not in run.data.tags]
    if not parents:
        return None
    parent = parents[0]
    client.set_tag(parent, f"{RELEASE_TAG}/{facts.name}/{facts.version}", facts.state)
    return parent


def _set_aliases(client: MlflowClient, model: str, last: dict[str, str], ours: set[str]) -> None:
    """Each alias at the last version in its state; where none is, off a version of ours, and only of ours."""
    present = client.get_registered_model(model).aliases
    for alias in ALIASES:
        wanted, found = last.get(alias), present.get(alias)
        if wanted is not None and wanted != str(found):
            client.set_registered_model_alias(model, alias, wanted)
        elif wanted is None and str(found) in ours:
            client.delete_registered_model_alias(model, alias)
