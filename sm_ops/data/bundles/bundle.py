"""A bundle: a repository of 24 text files around one task, before and after private values are planted into it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sm_ops.data.planting import Planted
from sm_ops.data.tasks import Task

SUITE = ("python", "suite.py")
"""The command that runs a bundle's tests, in the folder that holds it."""
CLEAN = (
    "ISSUE.md",
    "README.md",
    "tests.py",
    "test_repository.py",
    "suite.py",
    "pyproject.toml",
    "config/defaults.json",
    "config/logging.ini",
)
"""Files that no value is planted into."""
HOLDING = (
    "solution.py",
    "cli.py",
    "settings.py",
    "jobs.py",
    "publish.py",
    "config/app.json",
    "config/features.yaml",
    "config/service.toml",
    "config/paths.ini",
    "config/client.xml",
    "config/accounts.csv",
    "deploy/compose.yaml",
    "deploy/service.env",
    "deploy/run.sh",
    "deploy/job.properties",
    "deploy/seed.sql",
)
"""Files that hold one private value each: four of every kind, so that a value is used four times in a bundle."""
RECORDS = {"text": len(CLEAN) + len(HOLDING), "chat": len(HOLDING) + 2}
"""How many records a bundle gives, by form (see `views`)."""


@dataclass(frozen=True, slots=True)
class Planting:
    """One private value in one file: where it stands, and what was inserted around it."""

    path: str
    kind: str
    value: str = field(repr=False)
    planted: Planted = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A task's repository: `clean` by path, and the plantings of one person, `group`."""

    task: Task
    group: str | None
    clean: dict[str, str] = field(repr=False)
    asks: dict[str, str] = field(repr=False)
    """By path, what a user may have asked to get the file; it names no value."""
    plantings: tuple[Planting, ...]

    @property
    def planted(self) -> dict[str, str]:
        """The texts of all files with the values in them."""
        return self.clean | {planting.path: planting.planted.text for planting in self.plantings}

    def program(self, texts: dict[str, str]) -> dict[str, bytes]:
        """The folder to run `SUITE` in: these texts, and the files that the task reads."""
        return self.task.files | {path: text.encode() for path, text in texts.items()}
