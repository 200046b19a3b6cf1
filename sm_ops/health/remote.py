"""Whether the remotes hold every version of the data that git knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sm_ops.health.row import Row


def rows(home: Path) -> Iterator[Row]:
    """A row for each thing that is missing; the remotes are asked."""
    from sm_ops.versioning.data.verbs import remote_problems

    problems = remote_problems(home)
    yield from (Row("remote", False, problem) for problem in problems)
    if not problems:
        yield Row("remote", True, "holds every version of the data that git knows")
