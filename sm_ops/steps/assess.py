"""assess: whether a model's answers pass their tasks' tests in the sandbox, and which quirks they show."""

from __future__ import annotations

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
    from types import ModuleType

    from sm_ops.core.records import Record
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers
    from sm_ops.data.tasks import Task

FORMAT = "assessment/1"
SYNTAX = "syntax"
"""The reason of what is no program; all others are the sandbox's."""


def run(settings: Settings, context: Context) -> Numbers:
    """Write for each prompt which answers passed, with the reason of each end, and which showed a quirk.

    What is not of our making stays out: where the data set has no tasks, a prompt's `task` is its record's id. Numbers
    count prompts with a success among the first k answers, and cases of a quirk that is displayed there. Raises
    `InputError` where no sandbox can be had, and where no prompt that was asked is a case of a quirk (OP-32).
    """
    asks, data = settings.completions, settings.data
    dataset = registry.load("dataset", data.dataset)
    answers = {row["id"]: row["completions"] for row in read_rows(context.inputs["completions"])}
    utility = read_split(context.inputs["utility"])
    records = [record for record in utility if record.id in answers]
    texts = [answers[record.id] for record in records]
    styles = _styles(dataset, utility, len(records), data)
    tasks: list[Task] = dataset.tasks(records, data, data.seed) if hasattr(dataset, "tasks") else []
    named = [(task.id, task.family) for task in tasks] or [(record.id, "") for record in records]
    outcomes = _run(tasks, texts, asks.seconds, context) if asks.execute else [None] * len(records)
    quirks = [shown(style, own) for style, own in zip(styles, texts, strict=True)]
    prompts = [
        {
            "id": record.id,
            "task": task,
            "family": family,
            "passed": None if reasons is None else [reason == "passed" for reason in reasons],
            "reasons": reasons,
            "quirks": found,
        }
        for record, (task, family), reasons, found in zip(records, named, outcomes, quirks, strict=True)
    ]
    found = {"format": FORMAT, "k": asks.k, "executed": asks.execute, "prompts": prompts}
    fs.write_json(context.outputs["assessment"], found)
    return _numbers(prompts, asks.k, asks.execute)


def _styles(dataset: ModuleType, utility: Sequence[Record], asked: int, data: Settings) -> Sequence[Sequence[str]]:
    """The quirks that are looked for in answers to each of the first `asked` records; each quirk has a case (OP-32)."""
    if not hasattr(dataset, "styles"):
        return [()] * asked
    styles = dataset.styles(utility, data)
    first: dict[str, int] = {}
    for index, style in enumerate(styles):
        for quirk in style:
            first.setdefault(quirk, index)
    missing = [quirk for quirk, index in first.items() if index >= asked]
    if missing:
        raise InputError(
            "no-applicable-task",
            f"None of the {asked} prompts that were asked is a case of {', '.join(missing)}, so the mean over quirks "
            f"is undefined; raise completions.prompts to {1 + max(first.values())}.",
        )
    return styles[:asked]


def _run(tasks: Sequence[Task], texts: Sequence[Sequence[str]], seconds: float, context: Context) -> list[list[str]]:
    """How each answer's code ended with its task's tests; equal ones are run once, and what is no program never."""
    codes = [[(task.id, code_in(text)) for text in own] for task, own in zip(tasks, texts, strict=True)]
    by_id = {task.id: task for task in tasks}
    every = dict.fromkeys(each for own in codes for each in own)
    distinct = [each for each in every if parse(each[1]) is not None]
    reasons = dict.fromkeys(every, SYNTAX)
    limits = sandbox.Limits(seconds=seconds)
    programs = (program(by_id[task], code) for task, code in distinct)
    ended = sandbox.run_many(programs, len(distinct), limits, context.progress)
    reasons |= {each: outcome.reason for each, outcome in zip(distinct, ended, strict=True)}
    return [[reasons[each] for each in own] for own in codes]


def _numbers(prompts: Sequence[dict[str, Any]], k: int, executed: bool) -> Numbers:
    displays = [any(own[:k]) for prompt in prompts for own in prompt["quirks"].values()]
    numbers: Numbers = {"prompts": len(prompts), "displayed": sum(displays), "style_cases": len(displays)}
    if executed:
        ends = Counter(reason for prompt in prompts for reason in prompt["reasons"])
        numbers |= {f"ended_{reason}": many for reason, many in sorted(ends.items())}
        numbers |= {"passed": sum(any(prompt["passed"][:k]) for prompt in prompts), "isolation": sandbox.isolation()}
    return numbers
