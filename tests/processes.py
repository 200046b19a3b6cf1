"""Which processes live: read from /proc, where any of them may end between two looks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    return _state_and_parent(pid)[0] not in ("", "Z")


def living() -> Iterator[int]:
    """Every process that is there and no zombie."""
    return filter(alive, (int(entry.name) for entry in Path("/proc").glob("[0-9]*")))


def children(pid: int) -> list[int]:
    """The living children of a process, without multiprocessing's own resource tracker."""
    found = [child for child in living() if _state_and_parent(child)[1] == str(pid)]
    return [child for child in found if not any("resource_tracker" in part for part in arguments(child))]


def arguments(pid: int) -> list[str]:
    """A process's command line; empty when it has gone."""
    return _read(pid, "cmdline").split("\0")[:-1]


def variables(pid: int) -> list[str]:
    """A process's environment as it began, as NAME=VALUE; empty when it has gone."""
    return _read(pid, "environ").split("\0")[:-1]


def _state_and_parent(pid: int) -> tuple[str, str]:
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return (fields[0], fields[1]) if fields else ("", "")


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except OSError:  # it ended meanwhile
        return ""
