"""Resolved settings: plain JSON read through attributes, so that numeric code needs no pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean


class Settings:
    """Nested read-only attributes over a JSON object: `settings.train.epochs`."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._values[name]
        except KeyError:
            raise AttributeError(f"no setting {name!r}") from None
        return Settings(value) if isinstance(value, dict) else value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"settings are read-only: {name!r}")

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __reduce__(self) -> tuple[Any, ...]:
        return Settings, (self._values,)

    def __repr__(self) -> str:
        return f"Settings({', '.join(self._values)})"

    def plain(self) -> dict[str, Any]:
        """The JSON object behind the view."""
        return dict(self._values)

    def at(self, dotted: str) -> Any:
        """The value at a dotted path such as `train.epochs`, or None where a section on the way is null."""
        value: Any = self._values
        for part in dotted.split("."):
            value = None if value is None else value[part]
        return value


def with_defaults(
    owner: str, given: Mapping[str, Any], defaults: Mapping[str, Any], place: str | None = None
) -> dict[str, Any]:
    """Settings of an owner such as `the detector 'regex'`, the missing ones filled in.

    Raises `InputError` for an unknown one, with its dotted name where `place` says where the settings stand.
    """
    for name in given:
        if name not in defaults:
            known = did_you_mean(str(name), defaults) if defaults else "it has none"
            told = f"{owner[:1].upper()}{owner[1:]} has no setting {name!r}; {known}."
            raise InputError("unknown-setting", told if place is None else f"{place}.{name}: {told}")
    return {**defaults, **given}
