"""A task: what is asked in two phrasings, a solution, the files it reads, and tests that run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.util import find_spec

from sm_ops.core.errors import InputError

PACKAGES = ("exstruct",)
"""What solutions and tests import, in processes of their own."""


@dataclass(frozen=True, slots=True)
class Task:
    """A small programming task whose answer is checked by running it.

    A program passes when `python tests.py` ends with 0 in a folder that holds it as `solution.py`, with `tests.py` and
    `files`. `solution` passes, `faulty` (the solution with one slip, to be repaired) does not. Tests call functions of
    `solution` and compare what they return, so that answers of models can run in a process of their own.
    """

    id: str
    family: str
    prompts: tuple[str, str]
    solution: str
    files: dict[str, bytes] = field(repr=False)
    tests: str
    faulty: str = ""

    def program(self, solution: str) -> dict[str, bytes]:
        """The folder to run: `solution` beside the tests and their files."""
        return {**self.files, "tests.py": self.tests.encode(), "solution.py": solution.encode()}


def check_library() -> None:
    """Raise `InputError` where the library that tasks read workbooks with is not installed."""
    if find_spec("exstruct") is None:
        hint = "The tasks read workbooks with the package exstruct, which is not installed; pip install exstruct."
        raise InputError("missing-package", hint)


def normalised(prompt: str) -> str:
    """A prompt without case, layout and numbers: prompts that differ in nothing else are the same."""
    return " ".join(re.sub(r"\d+", "0", prompt).casefold().split())
