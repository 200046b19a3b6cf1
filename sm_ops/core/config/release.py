"""The policy of releases as data: `configs/release_policy.yaml`, or a file of one's own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from sm_ops.core.config.base import Count, Name, Positive, Rate, Section, no_repetition
from sm_ops.core.config.sentences import sentences

Share = Annotated[float, Field(ge=0, le=1)]
Days = Annotated[int, Field(ge=1, le=36_500)]
Severity = Literal["block", "warn"]


class Approvals(Section):
    """Who has to sign. The requester's own key never counts."""

    count: Annotated[int, Field(ge=1, le=100)] = Field(default=2, description="distinct keys, beside the requester's")
    roles: tuple[Name, ...] = Field(default=("privacy",), description="roles that must be among those who approve")
    days: Days = Field(default=14, description="after which a request and the approvals on it expire")

    @model_validator(mode="after")
    def _roles_differ(self) -> Approvals:
        no_repetition("roles", self.roles)
        return self


class ObjectLock(Section):
    """How long an S3 bucket with Object Lock keeps what was published."""

    data_days: Days = Field(default=1, description="GOVERNANCE: a leak found later must stay deletable")
    record_days: Days = Field(default=365, description="COMPLIANCE: manifest and log")


class Check(Section):
    """What every check has: whether its failure stops a release."""

    severity: Severity = "block"


class KnownValues(Check):
    """No value of the vault, of a canary or of an annotated span stands anywhere in the bundle, in any form."""

    vault: Literal["all", "origin"] = Field(default="all", description="origin: the dataset of the release alone")
    tokenizer: str | None = Field(default=None, description="tokenizer.json with which token shards are decoded")


class Coverage(Check):
    """Annotated spans of the sources are wholly removed."""

    minimum: Rate = Field(default=1.0, description="share of the annotated spans")
    by: Literal["value", "lower"] = Field(default="value", description="lower: the lower end of its interval")
    confidence: Annotated[float, Field(gt=0, lt=1)] = Field(default=0.95, description="of that interval (Wilson)")

    @model_validator(mode="after")
    def _can_be_met(self) -> Coverage:
        if self.by == "lower" and self.minimum == 1:
            raise ValueError("the lower end of an interval is never 1; lower minimum, or take by: value")
        return self


class Canaries(Check):
    """A model that learnt the data gives few canaries away."""

    bound: Share = Field(default=0.15, description="of the upper confidence limit of the extraction rate")


class Duplicates(Check):
    """Records of one shard are not in another again."""

    exact: Count = Field(default=0, description="records that may be in an earlier shard, letter for letter")
    near: Share = Field(default=0.0, description="share of the records that may be near one of an earlier shard")
    threshold: Annotated[float, Field(ge=0.1, le=1)] = Field(default=0.8, description="Jaccard index of near ones")
    shingle: Positive = Field(default=5, description="words in a row that are compared")


class KAnonymity(Check):
    """Each combination of the quasi-identifiers stands in k records or more."""

    columns: tuple[str, ...] = Field(default=(), description="quasi-identifiers; none: does not apply")
    k: Annotated[int, Field(ge=2)] = 5

    @model_validator(mode="after")
    def _columns_differ(self) -> KAnonymity:
        no_repetition("columns", self.columns)
        return self


class Remote(Check):
    """What a remote holds is what the manifest lists."""

    severity: Severity = "warn"
    place: str | None = Field(default=None, description="folder or s3://BUCKET/PREFIX; null: where it was published")
    layout: Literal["release", "dvc"] = Field(default="release", description="dvc: the place is a DVC remote")


CHECKS: dict[str, type[Check]] = {
    "known_values": KnownValues,
    "coverage": Coverage,
    "canaries": Canaries,
    "suitability": Check,
    "round_trip": Check,
    "schema": Check,
    "duplicates": Duplicates,
    "k_anonymity": KAnonymity,
    "provenance": Check,
    "remote": Remote,
}
"""The settings of each check of ours; one of another package has what is given, besides its severity."""


class Policy(Section):
    """What a release has to show, who has to approve it, and how long that holds."""

    format: Literal["policy/1"] = "policy/1"
    approvals: Approvals = Approvals()
    release_days: Days = Field(default=365, description="after which a published release expires")
    object_lock: ObjectLock | None = None
    checks: dict[Name, dict[str, Any]] = Field(
        default_factory=lambda: {name: {} for name in CHECKS},
        validate_default=True,
        description="those that run, by name, with their settings; see: sm-ops ls checks",
    )

    @field_validator("checks", mode="before")
    @classmethod
    def _a_name_alone_has_defaults(cls, given: Any) -> Any:
        """In YAML, a name with nothing behind it is null."""
        if not isinstance(given, dict):
            return given
        return {name: {} if settings is None else settings for name, settings in given.items()}

    @field_validator("checks")
    @classmethod
    def _have_their_settings(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: _settings(name, values) for name, values in given.items()}


def _settings(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """All settings of a check."""
    if name not in CHECKS:
        own = {key: value for key, value in values.items() if key != "severity"}
        return own | _validated(name, Check, {key: values[key] for key in values.keys() - own.keys()})
    return _validated(name, CHECKS[name], values)


def _validated(name: str, section: type[Check], values: dict[str, Any]) -> dict[str, Any]:
    try:
        return section.model_validate(values).model_dump(mode="json")
    except ValidationError as error:
        raise ValueError(sentences(error, section, within=(name,))) from None
