"""assess: whether a model's answers pass their tasks' tests in the sandbox, and which quirks they show."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs, registry
from sm_ops.core.errors import InputError
from sm_ops.data.hosts import parse
from sm_ops.evaluation import sandbox
from sm_ops.evaluation.answers import code_in, program, shown
from sm_ops.steps._documents import read_rows
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from sm_ops.core.records import Record
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers
    from sm_ops.data.tasks import Task

FORMAT = "assessment/1"
SYNTAX = "syntax"
"""The reason of what is no program; all others are the sandbox's."""
_MOST = 8
"""Programs at a time, at most."""
_BATCH = 64


def run(settings: Settings, context: Context) -> Numbers:
    """Write for each prompt which answers passed, with the reason of each end, and which showed a quirk.

    Numbers count prompts with a success among the first k answers, and cases of a quirk that is displayed there.
    Raises `InputError` where no sandbox can be had, and for a data set without tasks.
    """
    asks = settings.completions
    answers = {row["id"]: row["completions"] for row in read_rows(context.inputs["completions"])}
    records = [record for record in read_split(context.inputs["utility"]) if record.id in answers]
    texts = [answers[record.id] for record in records]
    outcomes = _run(records, texts, settings, context) if asks.execute else [None] * len(records)
    quirks = [shown(record.meta.get("style", ()), own) for record, own in zip(records, texts, strict=True)]
    prompts = [
        {
            "id": record.id,
            "task": record.meta.get("task", record.meta.get("host", record.id)),
            "family": record.meta.get("family", ""),
            "passed": None if reasons is None else [reason == "passed" for reason in reasons],
            "reasons": reasons,
            "quirks": found,
        }
        for record, reasons, found in zip(records, outcomes, quirks, strict=True)
    ]
    found = {"format": FORMAT, "k": asks.k, "executed": asks.execute, "prompts": prompts}
    fs.write_json(context.outputs["assessment"], found)
    return _numbers(prompts, asks.k, asks.execute)


def _run(
    records: Sequence[Record], texts: Sequence[Sequence[str]], settings: Settings, context: Context
) -> list[list[str]]:
    """How each answer's code ended with its task's tests; equal ones are run once, and what is no program never."""
    dataset = registry.load("dataset", settings.data.dataset)
    if not hasattr(dataset, "tasks"):
        raise InputError(
            "no-tasks",
            f"The data set {settings.data.dataset!r} has no tasks whose tests could be run; set completions.execute to "
            "false, or completions.samples to 0.",
        )
    tasks: list[Task] = dataset.tasks(records, settings.data, settings.data.seed)
    codes = [[(task.id, code_in(text)) for text in own] for task, own in zip(tasks, texts, strict=True)]
    by_id = {task.id: task for task in tasks}
    every = dict.fromkeys(each for own in codes for each in own)
    distinct = [each for each in every if parse(each[1]) is not None]
    reasons = dict.fromkeys(every, SYNTAX)
    limits = sandbox.Limits(seconds=settings.completions.seconds)
    workers = min(_MOST, len(os.sched_getaffinity(0)))
    for first in range(0, len(distinct), _BATCH):
        batch = distinct[first : first + _BATCH]
        ended = sandbox.run_all((program(by_id[task], code) for task, code in batch), limits, workers)
        reasons |= {each: outcome.reason for each, outcome in zip(batch, ended, strict=True)}
        context.progress(first + len(batch), len(distinct))
    return [[reasons[each] for each in own] for own in codes]


def _numbers(prompts: Sequence[dict[str, Any]], k: int, executed: bool) -> Numbers:
    displays = [any(own[:k]) for prompt in prompts for own in prompt["quirks"].values()]
    numbers: Numbers = {"prompts": len(prompts), "displayed": sum(displays), "style_cases": len(displays)}
    if executed:
        ends = Counter(reason for prompt in prompts for reason in prompt["reasons"])
        numbers |= {f"ended_{reason}": many for reason, many in sorted(ends.items())}
        numbers |= {"passed": sum(any(prompt["passed"][:k]) for prompt in prompts), "isolation": sandbox.isolation()}
    return numbers
