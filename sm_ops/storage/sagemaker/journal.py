"""What is known of each submission, on disk before the service is asked, so that no job is submitted twice.

    HOME/sagemaker/jobs/NAME/journal.json     the request, and the states that it went through
    HOME/sagemaker/jobs/NAME/export/          what was exported of its results

    planned -> submitting -> submitted -> ended -> removed
                    |-> refused, or not arrived     a later attempt may follow

`submitting` without a living process means that nobody knows whether the service took the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean

FORMAT = "sagemaker-journal/1"
State = Literal["planned", "submitting", "submitted", "refused", "not-arrived", "ended", "removed"]
Json = dict[str, Any]


@dataclass
class Entry:
    """One job: its request, the inventory that it was made for, and its states, the newest last."""

    folder: Path
    request: Json
    inventory: Json
    local: bool
    states: list[Json] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The job's name."""
        return self.request["TrainingJobName"]

    @property
    def series(self) -> str:
        """What the attempts at the same work share."""
        return self.name.rpartition("-")[0]

    @property
    def state(self) -> State:
        """The newest state."""
        return self.states[-1]["state"]

    @property
    def age(self) -> float:
        """Seconds since the newest state."""
        return (datetime.now(UTC) - datetime.fromisoformat(self.states[-1]["at"])).total_seconds()

    def enter(self, state: State, **detail: Any) -> None:
        """Add a state, on disk when this returns."""
        self.states.append({"state": state, "at": datetime.now(UTC).isoformat(timespec="seconds"), **detail})
        content = {"format": FORMAT, "request": self.request, "inventory": self.inventory, "local": self.local}
        fs.write_json(self.folder / "journal.json", {**content, "states": self.states})


class Journal:
    """All jobs of a home."""

    def __init__(self, home: Path) -> None:
        self.root = home / "sagemaker"
        self.folder = self.root / "jobs"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else submits or removes meanwhile; freed when its holder dies."""
        fs.private_folder(self.root)
        lock = FileLock(self.root / "journal.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            hint = f"Another command works on the jobs below {self.root}; wait for it, then run the same command again."
            raise InputError("journal-busy", hint) from None
        try:
            yield
        finally:
            lock.release()

    def plan(self, request: Json, inventory: Json, local: bool) -> Entry:
        """A new entry."""
        entry = Entry(self.folder / request["TrainingJobName"], request, inventory, local)
        entry.enter("planned")
        return entry

    def entries(self) -> list[Entry]:
        """All of them, the oldest first."""
        found = (self._read(path) for path in self.folder.glob("*/journal.json"))
        return sorted(found, key=lambda entry: (entry.states[0]["at"], entry.name))

    def attempts(self, series: str) -> list[Entry]:
        """The attempts at one piece of work, the first one first."""
        found = [entry for entry in self.entries() if entry.series == series]
        return sorted(found, key=lambda entry: int(re.sub(r".*-", "", entry.name)))

    def find(self, name: str | None) -> Entry:
        """The newest job, or the newest whose name begins with `name`."""
        entries = self.entries()
        found = [entry for entry in entries if entry.name.startswith(name or "")]
        if not found:
            near = did_you_mean(name, [entry.name for entry in entries]) if name and entries else "submit one first"
            raise InputError("no-job", f"There is no job{f' {name!r}' if name else ''} below {self.root}; {near}.")
        return found[-1]

    def _read(self, path: Path) -> Entry:
        try:
            value = fs.read_json(path)
            if value["format"] != FORMAT:
                hint = f"{path} has format {value['format']!r}, this version reads {FORMAT!r}."
                raise InputError("journal-format", hint)
            return Entry(path.parent, value["request"], value["inventory"], value["local"], value["states"])
        except (ValueError, TypeError, KeyError):
            hint = f"{path} is damaged; look the job up in the console of SageMaker, then move the folder away."
            raise InputError("journal-damaged", hint) from None
