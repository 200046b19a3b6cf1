"""What is wrong with given settings, in sentences that name the field, what was given and the nearest name."""

from __future__ import annotations

import re
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from sm_ops.core.config.base import Section
from sm_ops.core.registry import did_you_mean

Place = tuple[int | str, ...]


def sentences(error: ValidationError, root: type[Section], within: Place = ()) -> str:
    """All mistakes, without full stop; `within` is the place of `root` itself.

    A mistake is told once: not again of the list that holds it, nor for each type that a value might have.
    """
    found: dict[Place, Any] = {}
    for detail in error.errors(include_url=False):
        place = _place(detail["loc"])
        if place in found and detail["type"] == "string_type":
            detail["msg"] = "a number or a word is asked for"
        found[place] = detail
    own = {place: each for place, each in found.items() if not any(_is_inside(other, place) for other in found)}
    return "; ".join(_sentence(place, detail, root, within) for place, detail in own.items())


def _place(location: Place) -> Place:
    """The settings on the way, without pydantic's words for types and for keys."""
    return tuple(part for part in location if part not in ("int", "float", "str", "[key]"))


def _is_inside(place: Place, other: Place) -> bool:
    return len(place) > len(other) and place[: len(other)] == other


def _sentence(place: Place, detail: Any, root: type[Section], within: Place) -> str:
    path = ".".join(map(str, (*within, *place)))
    if detail["type"] == "extra_forbidden":
        known = _fields_at(place[:-1], root)
        return f"there is no setting {path}; {did_you_mean(str(place[-1]), known)}"
    message = detail["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    for python, ours in (("tuple", "list"), ("dictionary", "mapping"), (" after validation", "")):
        message = message.replace(python, ours)
    if detail["type"] == "value_error":
        return f"{path}: {message}" if path else message
    if detail["type"] == "missing":
        return f"{path} is missing"
    if detail["type"] == "model_type":
        message = f"it is a section with the settings {', '.join(_fields_at(place, root))}"
    if detail["type"] == "string_pattern_mismatch":
        message = "a name is of letters, digits, '_', '-' and '.', and begins with one of the first three"
    if detail["type"] == "literal_error" and isinstance(detail["input"], str):
        allowed = re.findall(r"'([^']+)'", detail["ctx"]["expected"])
        message += f"; {did_you_mean(detail['input'], allowed)}"
    return f"{path} is {_as_written(detail['input'])}, but {message}"


def _as_written(value: Any) -> str:
    """A value as YAML has it, where Python has another word."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_as_written, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_as_written(each)}" for name, each in value.items()) + "}"
    return repr(value)


def _fields_at(location: Place, root: type[Section]) -> list[str]:
    """The settings of the section at a place; none where there is no section."""
    model: type[Section] | None = root
    parts = iter(location)
    for part in parts:
        if model is None or part not in model.model_fields:
            return []
        annotation = model.model_fields[str(part)].annotation
        model = _section_of(annotation)
        if get_origin(annotation) in (dict, tuple):
            next(parts, None)  # the key or the number of one of them
    return list(model.model_fields) if model else []


def _section_of(annotation: Any) -> type[Section] | None:
    """The section that a field holds: itself or null, or one for each key or number."""
    inside = (annotation, *get_args(annotation))
    return next((each for each in inside if isinstance(each, type) and issubclass(each, Section)), None)
