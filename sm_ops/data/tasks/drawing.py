"""The pool of tasks: as many as are asked for, and no two alike."""

from __future__ import annotations

from random import Random

from sm_ops.data.hosts import shape
from sm_ops.data.tasks.composing import compose
from sm_ops.data.tasks.task import Task, normalised


def pool(count: int, seed: int) -> list[Task]:
    """`count` tasks, the same for equal arguments; a smaller pool is the beginning of a larger one of its seed.

    No two share an id, a prompt without case, layout and numbers, or the shape of their solutions (`hosts.shape`), so
    any two parts of one pool have no task, normalised prompt or normalised syntax tree in common.
    """
    tasks: list[Task] = []
    shapes: set[str] = set()
    prompts: set[str] = set()
    attempt = 0
    while len(tasks) < count:
        task = compose(len(tasks), Random(f"{seed}/task/{attempt}"))
        attempt += 1
        if task is None:
            continue
        form, asked = shape(task.solution), {normalised(prompt) for prompt in task.prompts}
        if form not in shapes and asked.isdisjoint(prompts):
            shapes.add(form)
            prompts |= asked
            tasks.append(task)
    return tasks
