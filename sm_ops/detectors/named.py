"""What a detector's settings name, however deep: other detectors, whose code counts, and files, whose content does.

A member says of itself, as far as it applies: with the constant `DEFAULTS` which settings it has, with `PLACES` which
of them may name a file or folder, or a package, whose version counts, with the function `parts(settings)` which other
detectors it loads (name -> settings, which lie under `settings.NAME` of its own), with `check(settings)` which values
it does not take, and with `available(settings)` what it would lack when it is loaded. Both raise `InputError` and load
nothing; the first looks at the settings alone, the second at this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.settings import with_defaults

Settings = Mapping[str, Any]


def detectors(name: str, settings: Settings, place: str = "settings") -> dict[str, dict[str, Any]]:
    """The detector itself and all that it loads, as the keys of a table for `Stage.members`.

    Raises `InputError` for an unknown name, and for settings that a detector does not have or take, with their dotted
    place; `place` is that of the outermost one's.
    """
    return {each: {} for each, *_ in _walk(name, settings, place)}


def places(name: str, settings: Settings) -> tuple[str, ...]:
    """The dotted settings, given ones alone, that may name a file or folder."""
    return tuple(
        f"{path}.{setting}".removeprefix(".")
        for _, member, path, own in _walk(name, settings, "")
        for setting in getattr(member, "PLACES", ())
        if setting in own
    )


def check_available(name: str, settings: Settings, place: str) -> None:
    """Refuse what cannot be loaded on this machine, as far as that is known beforehand: `InputError` with the place."""
    for _, member, path, own in _walk(name, settings, place):
        if available := getattr(member, "available", None):
            with _told_of(path):
                available(own)


def without_places(name: str, settings: Settings) -> dict[str, Any]:
    """The settings less those that may name a file or folder."""
    return _without(settings, {*places(name, settings)})


def _without(settings: Settings, left_out: set[str], path: str = "") -> dict[str, Any]:
    return {
        name: _without(value, left_out, f"{path}{name}.") if isinstance(value, dict) else value
        for name, value in settings.items()
        if f"{path}{name}" not in left_out
    }


def _walk(name: str, settings: Settings, place: str) -> Iterator[tuple[str, ModuleType, str, Settings]]:
    """Each detector and its module with the place of its settings and these, the outermost first, all checked."""
    member = registry.load("detector", name)
    if (known := getattr(member, "DEFAULTS", None)) is not None:
        with_defaults(f"the detector {name!r}", settings, known, place)
    if check := getattr(member, "check", None):
        with _told_of(place):
            check(settings)
    yield name, member, place, settings
    parts = getattr(member, "parts", None)
    for part, own in (parts(settings) if parts else {}).items():
        yield from _walk(part, own, f"{place}.settings.{part}".removeprefix("."))


@contextmanager
def _told_of(place: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(error.code, f"{place}: {error.hint}") from None
