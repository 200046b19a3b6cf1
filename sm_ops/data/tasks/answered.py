"""Which task each record answers, by the id in its `meta`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sm_ops.core.errors import StageError
from sm_ops.core.records import Record
from sm_ops.data.tasks.task import Task


def answered(records: Sequence[Record], tasks: Iterable[Task], key: str) -> list[Task]:
    """The task whose id stands in each record's `meta` under `key`; raises `StageError` where it is none of `tasks`."""
    known = {task.id: task for task in tasks}
    strangers = [record.id for record in records if record.meta.get(key) not in known]
    if strangers:
        hint = f"The record {strangers[0]} is of no task of this version with this seed; make the data again."
        raise StageError("unknown-task", hint)
    return [known[record.meta[key]] for record in records]
