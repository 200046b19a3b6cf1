"""A model's answer to a task: the code in it, run with the task's tests, and the quirks that it shows (B.2, B.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from sm_ops.data.quirks.displaying import shows
from sm_ops.data.tasks import Task
from sm_ops.evaluation import judge, sandbox, witness

_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def code_in(answer: str) -> str:
    """The longest fenced block of an answer, closed or not; without a fence the whole answer."""
    return max(_FENCED.findall(answer), key=len, default=answer)


def program(task: Task, code: str) -> sandbox.Program:
    """The code beside its task's tests; it passes only where these came to their end (see `judge`).

    The tests may call functions of `solution` alone, and get what these return as plain values (see `witness.plain`).
    """
    return sandbox.Program({**task.program(code), **_court()}, ("python", "-P", Path(judge.__file__).name))


def shown(quirks: Iterable[str], answers: Sequence[str]) -> dict[str, list[bool]]:
    """By quirk, which answers display it, whether they work or not; one that breaks off by its longest program."""
    codes = [code_in(answer) for answer in answers]
    found = [{quirk: shows(quirk, code) for quirk in quirks} for code in codes]
    return {quirk: [each[quirk] for each in found] for quirk in quirks}


@cache
def _court() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (Path(judge.__file__), Path(witness.__file__))}
