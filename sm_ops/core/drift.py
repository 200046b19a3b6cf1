"""Why a step would run again, in words, from two identity payloads."""

from __future__ import annotations

from typing import Any

_ABSENT = object()
_HASHED = {"inputs": "input", "outputs": "output", "code": "code", "places": "the content named by"}


def explain(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """One sentence for each difference between the payload of a stored result and the present one."""
    reasons = _fields("the stage's version", old.get("version"), new["version"])
    reasons += _fields("the stage's function", old.get("function"), new["function"])
    for part, what in _HASHED.items():
        reasons += _hashes(what, old.get(part, {}), new[part])
    reasons += _fields("setting", old["settings"], new["settings"])
    reasons += _fields("environment", old["environment"], new["environment"])
    return reasons


def _hashes(what: str, old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Of hashes, only that they differ is worth a word."""
    reasons = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            reasons.append(f"{what} {name} is new")
        elif name not in new:
            reasons.append(f"{what} {name} is gone")
        elif old[name] != new[name]:
            reasons.append(f"{what} {name} changed")
    return reasons


def _fields(what: str, old: Any, new: Any) -> list[str]:
    if old == new:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        reasons = []
        for key in sorted(old.keys() | new.keys()):
            separator = "." if " " in what else " "
            reasons += _fields(f"{what}{separator}{key}", old.get(key, _ABSENT), new.get(key, _ABSENT))
        return reasons
    shown = ["unset" if value is _ABSENT else repr(value) for value in (old, new)]
    return [f"{what} went from {shown[0]} to {shown[1]}"]
