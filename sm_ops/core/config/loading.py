"""Read a preset or a YAML file, apply overrides, validate; messages name the field and the nearest one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sm_ops.core import plain_yaml
from sm_ops.core.config.audit import AuditPipeline
from sm_ops.core.config.base import Section, SectionType
from sm_ops.core.config.pii import PiiPipeline
from sm_ops.core.config.ranking import RankingPipeline
from sm_ops.core.config.rewriting import RewritingPipeline
from sm_ops.core.config.sanitize import SanitizePipeline
from sm_ops.core.config.sentences import sentences
from sm_ops.core.config.surprise import SCALED, Data, Pipeline, read_by
from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean, members

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
_OTHERS = ("deployments", "release_policy")
"""Files of CONFIGS that are no pipelines."""
AnyPipeline = Pipeline | PiiPipeline | AuditPipeline | SanitizePipeline | RankingPipeline | RewritingPipeline
FLOWS: dict[str, type[AnyPipeline]] = {
    "surprise": Pipeline,
    "pii": PiiPipeline,
    "audit": AuditPipeline,
    "sanitize": SanitizePipeline,
    "ranking": RankingPipeline,
    "rewriting": RewritingPipeline,
}


def load_pipeline(source: str | None, overrides: list[str] | None = None) -> AnyPipeline:
    """Read a preset by name or a YAML file by path, apply `KEY=VALUE` overrides, validate.

    Raises `InputError` that names the field, what was given, what is allowed and the nearest name.
    """
    return built(*_read(source or "tiny"), overrides)


def built(values: dict[str, Any], where: str, overrides: list[str] | None = None) -> AnyPipeline:
    """A pipeline from plain values, which are changed by the overrides; an `InputError` begins with `where`."""
    pipeline = _flow(values, where)
    _leave_out(values, overrides or [])
    for override in overrides or []:
        _begin_table(values, override, pipeline)
        _set(values, override)
    return validated(pipeline, values, where)


def _flow(values: dict[str, Any], where: str) -> type[AnyPipeline]:
    flow = values.get("flow", "surprise")
    if flow not in FLOWS:
        near = did_you_mean(str(flow), FLOWS)
        raise InputError("unknown-flow", f"{where}: there is no flow {flow!r}; {near}.")
    return FLOWS[flow]


def _leave_out(values: dict[str, Any], overrides: list[str]) -> None:
    """Numbers that a file has for its own data set are not asked for where an override names another, or a scale."""
    data, given = values.get("data"), dict(override.split("=", 1) for override in overrides if "=" in override)
    if not isinstance(data, dict):
        return
    name = given.get("data.dataset")
    read = read_by(name) if name in members("dataset") else None
    unread = set() if read is None else Data.model_fields.keys() - {dotted.partition(".")[0] for dotted in read}
    scaled = SCALED if given.get("data.scale", "null") != "null" else ()
    values["data"] = {name: value for name, value in data.items() if name not in unread.union(scaled)}


def _begin_table(values: dict[str, Any], override: str, pipeline: type[AnyPipeline]) -> None:
    """An override of one entry of a table that the file does not have changes the default table."""
    name, dot, _ = override.partition("=")[0].partition(".")
    default = pipeline.model_fields[name].default if dot and name in pipeline.model_fields else None
    if isinstance(default, dict):
        plain = {key: entry.model_dump() if isinstance(entry, Section) else entry for key, entry in default.items()}
        values.setdefault(name, plain)


def load_section(section: type[SectionType], path: str | Path) -> SectionType:
    """A section that has a YAML file of its own; `InputError` names the file and the field."""
    path = Path(path)
    return validated(section, _read_file(path, "check the path"), path.name)


def validated(section: type[SectionType], values: dict[str, Any], where: str) -> SectionType:
    """A section (or a whole pipeline) from plain values; `InputError` begins with `where` and names the field."""
    try:
        return section.model_validate(values)
    except ValidationError as error:
        raise InputError("bad-config", f"{where}: {sentences(error, section)}.") from None


def parsed(overrides: list[str] | None) -> dict[str, Any]:
    """`KEY=VALUE` settings of one section as plain values; `InputError` for another form."""
    values: dict[str, Any] = {}
    for override in overrides or []:
        _set(values, override)
    return values


def resolve(pipeline: AnyPipeline) -> dict[str, Any]:
    """The config as plain JSON with every default filled in."""
    return pipeline.model_dump(mode="json")


def presets(flow: str | None = None) -> list[str]:
    """Names of the presets that come with the package, of one flow or of all."""
    names = sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem not in _OTHERS)
    return [name for name in names if flow is None or _read(name)[0].get("flow", "surprise") == flow]


def _read(source: str) -> tuple[dict[str, Any], str]:
    path = Path(source)
    if not path.suffix:
        path = CONFIGS / f"{source}.yaml"
        if not path.is_file():
            near = did_you_mean(source, presets())
            hint = f"There is no preset {source!r} ({near}); a file's name ends in .yaml."
            raise InputError("unknown-preset", hint)
    return _read_file(path, "check the path, or name a preset"), path.name


def _read_file(path: Path, advice: str) -> dict[str, Any]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no-config", f"There is no file {path}; {advice}.") from None
    values = plain_yaml.parse(text, path.name)
    if values is not None and not isinstance(values, dict):
        raise InputError("bad-yaml", f"{path.name}: the top level must be a mapping of sections.")
    return values or {}


def _set(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise InputError("bad-override", f"--set {override!r} is not of the form KEY=VALUE.")
    path, value = key.split("."), plain_yaml.parse(text, f"--set {key}")
    for part in path[:-1]:
        inner = values.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InputError("bad-override", f"--set {override!r}: {part} is a value, not a section.")
        values = inner
    values[path[-1]] = value
