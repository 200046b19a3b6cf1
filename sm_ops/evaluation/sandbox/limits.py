"""What goes into the sandbox and what comes out of it: a program, its limits, how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from sm_ops.core.errors import InputError


class Program(NamedTuple):
    """Files by relative name and a command that is started in the folder that holds them."""

    files: Mapping[str, bytes]
    command: Sequence[str]


@dataclass(frozen=True)
class Limits:
    """What a program may use; the defaults fit one test file of one task. Raises `InputError` unless all are positive.

    `seconds` of wall time, `cpu_seconds` of each process (`None`: as many), `memory_bytes` resident in all processes
    together and of address space in each, `processes` (threads count) at once, `files_bytes` in its private folder,
    `output_bytes` on its standard output and error together.
    """

    seconds: float = 20.0
    cpu_seconds: int | None = None
    memory_bytes: int = 2 << 30
    processes: int = 64
    files_bytes: int = 64 << 20
    output_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        for field in fields(self):
            limit = getattr(self, field.name)
            if limit is not None and not limit > 0:
                raise InputError("sandbox-limits", f"The sandbox's limit {field.name} is not positive; raise it.")


DEFAULT = Limits()


@dataclass(frozen=True)
class Outcome:
    """How a program ended; nothing of what it wrote.

    `reason` is `passed` (it ended with 0), `failed` (with another status), `crashed` (by a signal), `timeout`, `cpu`,
    `memory`, `processes`, `files`, `output` (the limit that it broke), or `killed` (from outside, as by a system short
    of memory). `seconds` of wall time from its start, without the sandbox's own.
    """

    passed: bool
    reason: str
    seconds: float
