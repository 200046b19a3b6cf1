"""What a detector's settings name, however deep: other detectors, whose code counts, and files, whose content does.

A member says with the constant `PLACES` which of its settings may name a file or folder, and with the function
`parts(settings)` which other detectors it loads: name -> settings, which lie under `settings.NAME` of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sm_ops.core import registry

Settings = Mapping[str, Any]


def detectors(name: str, settings: Settings) -> dict[str, dict[str, Any]]:
    """The detector itself and all that it loads, as the keys of a table for `Stage.members`.

    Raises `InputError` for an unknown name, and for settings of which the parts cannot be told.
    """
    return {each: {} for each, _, _ in _walk(name, settings)}


def places(name: str, settings: Settings) -> tuple[str, ...]:
    """The dotted settings, given ones alone, that may name a file or folder."""
    return tuple(
        f"{path}{place}"
        for each, path, own in _walk(name, settings)
        for place in getattr(registry.load("detector", each), "PLACES", ())
        if place in own
    )


def without_places(name: str, settings: Settings) -> dict[str, Any]:
    """The settings less those that may name a file or folder."""
    return _without(settings, {*places(name, settings)})


def _without(settings: Settings, left_out: set[str], path: str = "") -> dict[str, Any]:
    return {
        name: _without(value, left_out, f"{path}{name}.") if isinstance(value, dict) else value
        for name, value in settings.items()
        if f"{path}{name}" not in left_out
    }


def _walk(name: str, settings: Settings, path: str = "") -> Iterator[tuple[str, str, Settings]]:
    """Each detector with the path of its settings and these, the outermost first."""
    yield name, path, settings
    parts = getattr(registry.load("detector", name), "parts", None)
    for part, own in (parts(settings) if parts else {}).items():
        yield from _walk(part, own, f"{path}settings.{part}.")
