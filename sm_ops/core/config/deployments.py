"""What a Prefect server starts, as data: `configs/deployments.yaml`, or a file of one's own.

A started run has three parameters, here and on the server: the name of a config, seeds, and overrides of numbers and
choices. Whatever could hold a path, a secret or text is refused, here and again in the flow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator, model_validator

from sm_ops.core.config.base import Count, Name, Positive, Section
from sm_ops.core.config.loading import CONFIGS, FLOWS, load_pipeline, load_section, presets, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean

DEFAULT = CONFIGS / "deployments.yaml"
ON_DEMAND = "on-demand"
"""The deployment of every flow that a person starts."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")
_TYPES = {bool: "boolean", int: "integer", float: "number"}


class Pool(Section):
    """A work pool: workers that take its runs, on one kind of machine."""

    concurrency: Positive = Field(default=1, description="runs at a time; one for each GPU, or one")


class Schedule(Section):
    """When a flow runs, over which config."""

    flow: Literal["surprise", "pii", "audit", "sanitize", "ranking", "rewriting"]
    config: Name = Field(description="a preset, or NAME of a file configs/NAME.yaml in the home folder")
    cron: str = Field(description="minute, hour, day of the month, month, day of the week")
    timezone: str = "UTC"
    pool: Name
    seeds: tuple[Count, ...] | None = Field(default=None, min_length=1, description="null: those of the config")
    overrides: dict[str, Any] = Field(default={}, description="settings by dotted name: numbers and choices alone")

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise ValueError("this machine knows no time zone of this name; write one like Europe/Berlin") from None
        return name


class Releases(Section):
    """Where the flows of releases run, and where they publish."""

    pool: Name
    destination: str | None = Field(
        default=None, description="folder or s3://BUCKET/PREFIX; null: nothing is published by an event"
    )
    bucket_owner: str | None = Field(default=None, description="account that must own the bucket")

    @field_validator("destination")
    @classmethod
    def _is_whole(cls, place: str | None) -> str | None:
        if place is not None and not place.startswith(("/", "s3://")):
            raise ValueError("a destination is an absolute folder, or s3://BUCKET/PREFIX")
        return place


class Deployments(Section):
    """Pools, schedules by slug, and releases. Every flow can also be started by hand, in the first pool."""

    format: Literal["deployments/1"]
    pools: dict[Name, Pool] = Field(min_length=1)
    schedules: dict[Name, Schedule] = Field(default={})
    releases: Releases | None = None

    @model_validator(mode="after")
    def _names_are_known(self) -> Deployments:
        asked = {f"schedules.{slug}.pool": each.pool for slug, each in self.schedules.items()}
        asked |= {"releases.pool": self.releases.pool} if self.releases else {}
        for path, pool in asked.items():
            if pool not in self.pools:
                raise ValueError(f"{path}: there is no pool {pool!r}; {did_you_mean(pool, self.pools)}")
        if ON_DEMAND in self.schedules:
            raise ValueError(f"schedules.{ON_DEMAND}: the name is taken by what is started by hand; choose another")
        return self


def remembered(home: Path) -> Path:
    """Where a home keeps the file that it registered last, if one was named."""
    return home / "deployments.yaml"


def chosen_file(home: Path) -> Path:
    """The deployments file of who names none: the one that the home remembers, or that of the package."""
    return own if (own := remembered(home)).is_file() else DEFAULT


def load_deployments(path: str | Path) -> Deployments:
    """Read a deployments file; `InputError` names file and field."""
    return load_section(Deployments, path)


def resolved(flow: str, config: Any, seeds: Any, overrides: Any, home: Path, where: str = "parameters") -> dict:
    """The resolved config of a started run, as plain JSON.

    Raises `InputError`, which begins with `where` and holds no refused value, unless `config` is a name, `seeds` are
    whole numbers, `overrides` are of the kind that `overridable` lists, and all of it is a valid config of the flow.
    """
    if not isinstance(config, str) or not _NAME.fullmatch(config):
        raise InputError("config-name", f"{where}: config is not a name, which has letters, digits, '_', '-' and '.'.")
    if seeds is not None and not (isinstance(seeds, list | tuple) and all(type(seed) is int for seed in seeds)):
        raise InputError("bad-seeds", f"{where}: seeds are a list of whole numbers.")
    if overrides is not None and not isinstance(overrides, dict):
        raise InputError("bad-override", f"{where}: overrides are a mapping from the names of settings to values.")
    settings = [_override(flow, key, value, where) for key, value in (overrides or {}).items()]
    settings += [f"seeds={json.dumps(seeds)}"] if seeds is not None else []
    try:
        pipeline = load_pipeline(_source(config, home), settings)
    except InputError as error:
        raise InputError(error.code, f"{where}: {error.hint}") from None
    if pipeline.flow != flow:
        raise InputError("other-flow", f"{where}: config {config} is of the flow {pipeline.flow}, not of {flow}.")
    return resolve(pipeline)


def overridable(flow: str) -> dict[str, dict[str, Any]]:
    """JSON schema of every setting of a flow that a deployment may override, by dotted name: numbers and choices."""
    return {name: schema for name, schema in _fields(FLOWS[flow], "") if name != "seeds"}


def parameters_schema(flow: str) -> dict[str, Any]:
    """JSON schema of a started run's parameters, by which the server refuses others before it stores them."""
    settings = {"type": "object", "properties": overridable(flow), "additionalProperties": False, "default": {}}
    properties = {
        "config": {"type": "string", "pattern": f"^{_NAME.pattern}$"},
        "seeds": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "overrides": settings,
    }
    titled = {name: {"title": name, "position": place, **each} for place, (name, each) in enumerate(properties.items())}
    return {"type": "object", "properties": titled, "required": ["config"], "additionalProperties": False}


def _source(config: str, home: Path) -> str:
    """The file of that name in the home, else the preset."""
    own = home / "configs" / f"{config}.yaml"
    if own.is_file():
        return str(own)
    if config not in presets():
        near = did_you_mean(config, presets())
        hint = f"there is no config {config!r}, neither a preset nor configs/{config}.yaml below {home}; {near}."
        raise InputError("unknown-config", hint)
    return config


def _override(flow: str, key: Any, value: Any, where: str) -> str:
    """`KEY=VALUE` of a setting that may be overridden. A refused text is not repeated: it may be anything."""
    known = overridable(flow)
    if key not in known:
        told = f"{key!r} is not; {did_you_mean(key, known)}" if _is_plain(key) else "one of these is not"
        hint = f"{where}: a deployment overrides numbers and choices alone, which {told}."
        raise InputError("override-refused", hint)
    choices = known[key].get("items", known[key]).get("enum", [])
    given = value if isinstance(value, list | tuple) else [value]
    if not all(each in choices if isinstance(each, str) else isinstance(each, int | float) for each in given):
        asked = f"one of {', '.join(choices)}" if choices else "a number"
        raise InputError("override-refused", f"{where}: {key} asks for {asked}.")
    return f"{key}={json.dumps(value)}"


def _is_plain(key: Any) -> bool:
    return isinstance(key, str) and re.fullmatch(r"[a-z_.]{1,60}", key) is not None


def _fields(model: type[Section], prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, Section):
            yield from _fields(annotation, f"{prefix}{name}.")
        elif schema := _schema(annotation):
            described = {"description": field.description} if field.description else {}
            yield f"{prefix}{name}", schema | described


def _schema(annotation: Any) -> dict[str, Any] | None:
    """JSON schema of a type that is made of numbers and choices, or None of any other."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _schema(inner[0])
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    if origin is Literal:
        return {"type": "string", "enum": list(inner)} if len(inner) > 1 else None
    if origin is tuple:
        items = _schema(inner[0])
        return items and {"type": "array", "items": items}
    if origin in (Union, UnionType):
        found = [_schema(each) for each in inner if each is not type(None)]
        return found[-1] if all(found) else None  # int | float: a number
    return None
