"""What of a run may leave the home: settings by name, a config without places, files that are not restricted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.tracking.sent import Json

_PLACE = "[a file or folder]"


def parameters(config: Json, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The settings of these dotted names that the config has."""
    for dotted in names:
        section, dot, name = dotted.rpartition(".")
        values = config.get(section, {}) if dot else config
        if name in values:
            yield dotted, str(values[name])


def without_places(config: Json, places: Iterable[str], models: Iterable[str]) -> Json:
    """The config without the names of the user's files and folders; names of public models stay."""
    config = json.loads(json.dumps(config))
    for dotted in places:
        _replace(config, dotted, lambda value: _PLACE)
    for dotted in models:
        _replace(config, dotted, lambda value: value if _hub_name(value) else _PLACE)
    return config


def public_file(path: Path, home: Path) -> Path:
    """The path, or an `InputError` where it leads below the restricted root."""
    if path.resolve().is_relative_to((home / "restricted").resolve()):
        raise InputError("restricted", f"{path.name} is a restricted output, and tracking never opens such an output.")
    return path


def _replace(values: Any, dotted: str, change: Callable[[Any], Any]) -> None:
    """Change what stands at a dotted path. A part `*` is any key; `**` at its end every text below, however deep."""
    head, _, rest = dotted.partition(".")
    if head == "**":
        _replace_texts(values, change)
        return
    keys = [] if not isinstance(values, dict) else [*values] if head == "*" else [head] if head in values else []
    for key in keys:
        if rest:
            _replace(values[key], rest, change)
        elif values[key] is not None:
            values[key] = change(values[key])


def _replace_texts(values: Any, change: Callable[[Any], Any]) -> None:
    keys = [*values] if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else []
    for key in keys:
        if isinstance(values[key], str):
            values[key] = change(values[key])
        else:
            _replace_texts(values[key], change)


def _hub_name(value: str) -> bool:
    return re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", value) is not None and not Path(value).exists()
