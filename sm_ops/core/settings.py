"""Resolved settings: plain JSON read through attributes, so that numeric code needs no pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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

    def __repr__(self) -> str:
        return f"Settings({', '.join(self._values)})"

    def plain(self) -> dict[str, Any]:
        """The JSON object behind the view."""
        return dict(self._values)

    def at(self, dotted: str) -> Any:
        """The value at a dotted path such as `train.epochs`."""
        value: Any = self._values
        for part in dotted.split("."):
            value = value[part]
        return value
