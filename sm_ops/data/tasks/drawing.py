"""The pool of tasks: as many as are asked for, and no two alike."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.data.hosts import shape
from sm_ops.data.tasks.composing import FAMILIES, compose
from sm_ops.data.tasks.task import Task, normalised

_PATIENCE = 5000
"""Attempts without a new task after which there are no more."""


def pool(count: int, seed: int, families: Sequence[str] = (), solution_chars: int | None = None) -> list[Task]:
    """`count` tasks, the same for equal arguments; a smaller pool is the beginning of a larger one of its seed.

    No two share an id, a prompt without case, layout and numbers, or the shape of their solutions (`hosts.shape`), so
    any two parts of one pool have no task, normalised prompt or normalised syntax tree in common. `families` and
    `solution_chars` keep to tasks of these families (empty: all) and to solutions of at most so many characters. Raises
    `InputError` for a family that there is not, and where there are not so many tasks of the kind.
    """
    for family in families:
        if family not in FAMILIES:
            hint = f"There is no family of tasks {family!r}; {did_you_mean(family, FAMILIES)}."
            raise InputError("unknown-family", hint)
    tasks: list[Task] = []
    shapes: set[str] = set()
    prompts: set[str] = set()
    attempt = found_at = 0
    while len(tasks) < count:
        task = compose(len(tasks), Random(f"{seed}/task/{attempt}"))
        attempt += 1
        if attempt - found_at > _PATIENCE:
            limit = f" with solutions of at most {solution_chars} characters" if solution_chars is not None else ""
            raise InputError(
                "too-few-tasks",
                f"There are {len(tasks)} tasks of these families{limit}, but {count} are needed; "
                "allow longer solutions or more families, or take fewer tasks.",
            )
        if task is None or (families and task.family not in families):
            continue
        if solution_chars is not None and len(task.solution) > solution_chars:
            continue
        form, asked = shape(task.solution), {normalised(prompt) for prompt in task.prompts}
        if form not in shapes and asked.isdisjoint(prompts):
            shapes.add(form)
            prompts |= asked
            tasks.append(task)
            found_at = attempt
    return tasks
