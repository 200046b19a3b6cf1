"""Releases on the tracking server: a mirror of their signed records, which nothing reads back to decide.

A release NAME@VERSION is a version of the registered model `release-NAME`, tagged with its name, its manifest's digest
and its state; the alias `published` stands at the version that is published, if one is. The run that a release was
made from carries the tag `sm_ops.release/NAME/VERSION` with the state. Each mirroring sets all of it again, so what
was changed on the server, or missed while it was away, is set right by the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import InputError, SmOpsError
from sm_ops.tracking.server import EXPERIMENT, RUN_TAG, connected
from sm_ops.tracking.spool import mark_mirrored

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

ALIAS = "published"
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
    try:
        with connected(home) as client:
            changed = [release for name, each in by_name for release in _mirror(client, name, each)]
            mark_mirrored(digest(releases), home)
            return changed
    except SmOpsError:
        raise
    except Exception as error:
        kind = type(error).__name__
    raise InputError(
        "tracking-failed",
        f"The releases were not mirrored in MLflow ({kind}); they stand as they are, send it later with: "
        "sm-ops track push",
    )


def _mirror(client: MlflowClient, name: str, releases: list[Facts]) -> list[str]:
    """All releases of a name."""
    model = _model(client, name)
    known = {version.tags.get(RELEASE_TAG): version for version in client.search_model_versions(f"name = '{model}'")}
    changed = []
    for facts in releases:
        run = _run(client, facts)
        version = known.get(str(facts))
        if version is None:
            version = client.create_model_version(model, f"release:{facts}", run_id=run, tags=facts.tags)
            known[str(facts)] = version
            changed.append(str(facts))
        elif version.tags != facts.tags:
            for key, value in facts.tags.items():
                client.set_model_version_tag(model, version.version, key, value)
            changed.append(str(facts))
    published = [known[str(facts)] for facts in releases if facts.state == ALIAS]  # at most one of a home
    _set_alias(client, model, published[-1] if published else None, [known[str(facts)] for facts in releases])
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
    found = client.search_runs([experiment.experiment_id], f"tags.`{RUN_TAG}` = '{facts.run}'", order_by=["start_time"])
    if not found:
        return None
    parent = found[0].info.run_id  # its children carry the same tag, and began later
    client.set_tag(parent, f"{RELEASE_TAG}/{facts.name}/{facts.version}", facts.state)
    return parent


def _set_alias(client: MlflowClient, model: str, published: ModelVersion | None, ours: list[ModelVersion]) -> None:
    """The alias at what is published; where nothing is, off a version of ours, and only of ours."""
    present = client.get_registered_model(model).aliases.get(ALIAS)
    if published is not None and str(published.version) != str(present):
        client.set_registered_model_alias(model, ALIAS, str(published.version))
    elif published is None and str(present) in {str(version.version) for version in ours}:
        client.delete_registered_model_alias(model, ALIAS)
