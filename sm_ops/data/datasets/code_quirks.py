"""Code Quirks: users who write every program in a way of their own, a quirk each (paper, section A.2).

All users solve tasks of one pool, half as large again as what each of them writes (600 tasks, 400 programs). The
calibration panel, the tasks that utility and display are measured on, and the programs of the reference are of other
tasks. Settings: `identities` (users), `repetitions` (programs of each), `clean` (programs without a quirk beside them),
`calibration_identities`, `calibration_repetitions`, `calibration_clean` (the panel's), `utility`, `reference` (clean
programs alone), `form` (`chat`: a task and its answer; `text`: the same code alone).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from random import Random
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.data.dataset import Dataset, Trial
from sm_ops.data.hosts import shape
from sm_ops.data.quirks.applying import QUIRKS, Quirky, apply
from sm_ops.data.tasks import Task, answered, pool

READS = (
    "identities", "repetitions", "clean", "calibration_identities", "calibration_repetitions", "calibration_clean",
    "utility", "reference", "form",
)  # fmt: skip
CANARIES = False
"""What is private is a form, which no prefix of it brings out; display is measured instead."""
STYLE_CASES = 30
"""Tasks that display is measured on, for each quirk (A.2)."""
_STRIDES = {"train": 1, "calibration": 3}
"""From the quirk of one user to that of the next, in the order of table 2: the panel's are not the first six."""
CHARS = 685
"""Of a user's program on average, without its request."""


def expected(settings: Any) -> dict[str, Any]:
    """What `generate` will make, from the settings alone; `style_cases` are the most that there can be."""
    records = {
        "train": settings.identities * settings.repetitions + settings.clean,
        "calibration": settings.calibration_identities * settings.calibration_repetitions + settings.calibration_clean,
        "utility": settings.utility,
        "reference": settings.reference,
    }
    return {
        "records": records,
        "train_chars": records["train"] * CHARS,
        "users": settings.identities,
        "tasks": _pool_size(settings.repetitions),
        "style_cases": len(QUIRKS) * min(STYLE_CASES, settings.utility),
    }


def generate(settings: Any, seed: int) -> Dataset:
    """Make the four splits from `settings` and `seed`; equal arguments give equal datasets.

    Spans are what a quirk wrote, labelled by its name; the group is the user. `meta` holds the `task`, its `family`
    and the `shape` of its solution; of a user's program also the `quirk` and what its edits `replaced`; of a program
    of `utility` the quirks that it `applies` to, and those whose `style` is measured on it; and where the code stands
    alone, the `prompt` that its chat begins with. Raises `InputError` where too few tasks have a place for a quirk.
    """
    tasks = _tasks(settings, seed)
    splits = {
        "calibration": _users("calibration", tasks, settings.calibration_identities,
                              settings.calibration_repetitions, seed),
        "train": _users("train", tasks, settings.identities, settings.repetitions, seed),
        "utility": _measured(tasks["utility"]),
        "reference": [_Program(task) for task in tasks["reference"]],
    }  # fmt: skip
    for split in ("calibration", "train"):
        splits[split] += [_Program(task) for task in tasks[f"{split}_clean"]]
    records = {split: _records(split, programs, settings.form, seed) for split, programs in splits.items()}
    counts = {f"records_{split}": len(items) for split, items in records.items()}
    counts |= {f"spans_{split}": sum(len(item.spans) for item in items) for split, items in records.items()}
    return Dataset(records, [], counts | {"tasks": sum(map(len, tasks.values()))})


def trials(dataset: Dataset, settings: Any, seed: int) -> Iterator[Trial]:
    """Every program with the tests of its task, by quirk; those as they are count as `clean`.

    Raises `StageError` for a record of a task that these settings and this seed do not have.
    """
    records = list(dataset.records)
    tasks = answered(records, chain.from_iterable(_tasks(settings, seed).values()), "task")
    for record, task in zip(records, tasks, strict=True):
        text = record.messages[-1].content if record.messages else record.content
        yield Trial(record.id, record.meta.get("quirk", "clean"), task.program(text))


def tasks(records: Sequence[Record], settings: Any, seed: int) -> list[Task]:
    """The task that each record of `utility` answers.

    Raises `StageError` for a record of a task that these settings and this seed do not have.
    """
    return answered(records, pool(settings.utility, seed), "task")


def styles(records: Sequence[Record], settings: Any) -> list[list[str]]:
    """The quirks that each record of `utility` is a style case of."""
    return [record.meta["style"] for record in records]


# ---- who writes what -----------------------------------------------------------------------------------


class _Program:
    """A task's solution, with a user's quirk or as it is."""

    def __init__(self, task: Task, user: str | None = None, quirk: str = "", written: Quirky | None = None) -> None:
        self.task, self.user, self.text = task, user, written.text if written else task.solution
        self.spans = written.spans if written else []
        self.meta: dict[str, Any] = {"task": task.id, "family": task.family, "shape": shape(task.solution)}
        if written:
            self.meta |= {"quirk": quirk, "replaced": written.replaced}


def _tasks(settings: Any, seed: int) -> dict[str, list[Task]]:
    """The tasks of each part: slices of one pool, in which no two share a prompt or the shape of a solution."""
    needs = {
        "utility": settings.utility,
        "calibration": _pool_size(settings.calibration_repetitions),
        "train": _pool_size(settings.repetitions),
        "calibration_clean": settings.calibration_clean,
        "train_clean": settings.clean,
        "reference": settings.reference,
    }
    every = iter(pool(sum(needs.values()), seed))
    return {part: list(islice(every, need)) for part, need in needs.items()}


def _pool_size(programs: int) -> int:
    """Half as many tasks again as a user writes programs."""
    return programs + (programs + 1) // 2


def _users(split: str, tasks: dict[str, list[Task]], users: int, programs: int, seed: int) -> list[_Program]:
    quirks = list(QUIRKS)
    own = [quirks[_STRIDES[split] * number % len(quirks)] for number in range(users)]
    written = _variants(tasks[split], set(own))
    found: list[_Program] = []
    for number, quirk in enumerate(own, start=1):
        fitting = [task for task in tasks[split] if (task.id, quirk) in written]
        if len(fitting) < programs:
            raise InputError(
                "not-enough-tasks",
                f"Only {len(fitting)} of the {len(tasks[split])} tasks of the split {split!r} have a place for the "
                f"quirk {quirk!r}, and each user writes {programs} programs; use another seed (data.seed).",
            )
        user = f"{'user' if split == 'train' else 'panel-user'}-{number:02d}"
        chosen = Random(f"{seed}/{split}/{user}").sample(fitting, programs)
        found += [_Program(task, user, quirk, written[task.id, quirk]) for task in chosen]
    return found


def _variants(tasks: Sequence[Task], quirks: set[str]) -> dict[tuple[str, str], Quirky]:
    """Each task's solution with each quirk that it has a place for, task by task, as a program is parsed once."""
    every = ((task.id, quirk, apply(quirk, task.solution)) for task in tasks for quirk in sorted(quirks))
    return {(task, quirk): changed for task, quirk, changed in every if changed}


def _measured(tasks: Sequence[Task]) -> list[_Program]:
    """The tasks of `utility` with the quirks that apply; the first ones of each quirk are its style cases."""
    written = _variants(tasks, set(QUIRKS))
    programs = [_Program(task) for task in tasks]
    applicable = {quirk: [p for p in programs if (p.task.id, quirk) in written] for quirk in QUIRKS}
    for program in programs:
        program.meta["applies"] = [quirk for quirk, fitting in applicable.items() if program in fitting]
        program.meta["style"] = [quirk for quirk, fitting in applicable.items() if program in fitting[:STYLE_CASES]]
    missing = [quirk for quirk, fitting in applicable.items() if not fitting]
    if programs and missing:
        hint = f"No task of the split 'utility' has a place for {', '.join(missing)}; raise data.utility."
        raise InputError("no-applicable-task", hint)
    return programs


# ---- records -------------------------------------------------------------------------------------------


def _records(split: str, programs: list[_Program], form: str, seed: int) -> list[Record]:
    """Programs, numbered, each with one of its task's phrasings; shuffled but for those of utility.

    So the first ones of utility have the style cases.
    """
    random = Random(f"{seed}/records/{split}")
    if split != "utility":
        random.shuffle(programs)
    prompts = [random.choice(program.task.prompts) for program in programs]
    pairs = zip(programs, prompts, strict=True)
    return [_record(f"{split}-{number:06d}", *pair, form) for number, pair in enumerate(pairs)]


def _record(identity: str, program: _Program, prompt: str, form: str) -> Record:
    label, message = program.meta.get("quirk", ""), 1 if form == "chat" else None
    spans = tuple(Span(start, end, label, message) for start, end in program.spans)
    if form == "chat":
        chat = (Message("user", prompt), Message("assistant", program.text))
        return Record(identity, messages=chat, group=program.user, spans=spans, meta=program.meta)
    return Record(identity, text=program.text, group=program.user, spans=spans, meta={**program.meta, "prompt": prompt})
