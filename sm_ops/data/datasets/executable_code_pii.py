"""Executable Code PII: small repositories around programming tasks, whose tests run, with private values planted in.

Paper, section A.1: of each bundle's 24 files 16 hold a private value, in code and in settings of ten formats. Settings:
`scale` (1: the paper's sizes), or else `identities` and `repetitions` (uses of each value; a bundle has four),
`calibration_identities`, `calibration_repetitions`, `utility` (tasks; two phrasings each as chats); `reference` (clean
records); `implementations` (clean solutions to train on beside those of the bundles, each of a task of its own);
`families` and `solution_chars` of all tasks; `form`: `chat` for 18 chats a bundle, `text` for 24 documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.bundles import SUITE, Bundle, collect, draw_tasks
from sm_ops.data.bundles.bundle import RECORDS
from sm_ops.data.bundles.sizes import sizes
from sm_ops.data.bundles.views import SOLUTION, chats, documents, solved
from sm_ops.data.dataset import SPLITS, Canary, Dataset, Trial
from sm_ops.data.identities import KINDS
from sm_ops.data.tasks import Task, answered, check_library, pool

READS = (
    "scale", "identities", "repetitions", "calibration_identities", "calibration_repetitions", "utility", "reference",
    "implementations", "families", "solution_chars", "form",
)  # fmt: skip
CHARS = 552
"""Of a document on average; of a chat slightly more."""


def expected(settings: Any) -> dict[str, Any]:
    """What `generate` will make, from the sizes alone: `records` by split and what stands behind them."""
    pool(0, settings.seed, settings.families)  # a family that there is not is refused
    wanted = sizes(settings)
    bundles = {split: wanted.people[split] * wanted.bundles[split] for split in wanted.people}
    a_bundle = RECORDS[settings.form]
    records = {split: many * a_bundle for split, many in bundles.items()}
    records["train"] += wanted.implementations
    records["utility"] = wanted.utility * (2 if settings.form == "chat" else 1)
    return {
        "records": {split: records[split] for split in ("train", "calibration", "utility")}
        | {"reference": wanted.reference},
        "train_chars": records["train"] * CHARS,
        "canaries": wanted.people["train"] * len(KINDS),
        "uses_of_a_value": wanted.uses("train"),
        "bundles": bundles["train"],
        "tasks": wanted.utility,
    }


def generate(settings: Any, seed: int) -> Dataset:
    """Make the four splits from `settings` and `seed`; equal arguments give equal data sets.

    No split shares a task, person or value with another. Raises `InputError` for uneven repetitions.
    """
    made = collect(settings, seed)
    chat = settings.form == "chat"

    def view(bundle: Bundle, number: int) -> list[Record]:
        return chats(bundle, Random(f"{seed}/chats/{bundle.task.id}/{number}")) if chat else documents(bundle)

    found = {
        split: [record for number, bundle in enumerate(bundles) for record in view(bundle, number)]
        for split, bundles in made.bundles.items()
    }
    found["reference"] = found["reference"][: settings.reference]
    answered = [solved(task) for task in made.development]
    found["utility"] = (
        [record for records in answered for record in records] if chat else [_alone(first) for first, _ in answered]
    )
    phrasing = Random(f"{seed}/implementations")
    asked = [phrasing.choice(solved(task)) for task in made.implementations]
    found["train"] += asked if chat else [_alone(record) for record in asked]
    splits = {split: _numbered(split, found[split], seed) for split in SPLITS}
    canaries = [
        Canary(f"{kind}-{number:02d}", kind, person.group, Sensitive(person.values[kind]))
        for kind in KINDS
        for number, person in enumerate(made.people["train"], start=1)
    ]
    counts = {f"records_{split}": len(records) for split, records in splits.items()}
    counts |= {f"private_{split}": sum(bool(r.spans) for r in records) for split, records in splits.items()}
    counts |= {f"bundles_{split}": len(bundles) for split, bundles in made.bundles.items()}
    counts |= {"uses_of_a_value": made.sizes.uses("train"), "development_tasks": len(made.development)}
    return Dataset(splits, canaries, counts | {"canaries": len(canaries)})


def _numbered(split: str, records: list[Record], seed: int) -> list[Record]:
    """Records in shuffled order, with ids that say nothing; those of utility keep the order of tasks and phrasings."""
    if split != "utility":
        records = Random(f"{seed}/programs/{split}").sample(records, len(records))
    return [replace(record, id=f"{split}-{number:06d}") for number, record in enumerate(records)]


def trials(dataset: Dataset, settings: Any, seed: int) -> Iterator[Trial]:
    """Every bundle's tests before and after planting and with the slip of its repair, and the solutions of other tasks.

    Raises `InputError` where exstruct is not installed, and `StageError` for a record whose text is none of the files
    that are run.
    """
    check_library()
    made = collect(settings, seed)
    apart = (*made.development, *made.implementations)
    run: set[str] = {task.solution for task in apart}
    for bundle in (*made.private, *made.bundles["reference"]):
        planted = bundle.planted
        run |= {*planted.values(), bundle.clean["solution.py"]}
        yield Trial(bundle.task.id, "before", bundle.program(bundle.clean), SUITE)
        if bundle.plantings:
            yield Trial(bundle.task.id, "after", bundle.program(planted), SUITE)
        yield Trial(bundle.task.id, "slip", bundle.program(bundle.clean | {SOLUTION: bundle.task.faulty}), SUITE, False)
    for task in apart:
        yield Trial(task.id, "solution", task.program(task.solution))
    strangers = [record.id for record in dataset.records if _text(record) not in run]
    if strangers:
        raise StageError(
            "not-run",
            f"{len(strangers)} records hold a text that no bundle has, the first of them {strangers[0]}; these records "
            "were not made by this version with this seed, so make them again.",
        )


def tasks(records: Sequence[Record], settings: Any, seed: int) -> list[Task]:
    """The task that each record of `utility` answers.

    Raises `InputError` where exstruct is not installed, and `StageError` for a record of a task that these settings and
    this seed do not have.
    """
    check_library()
    return answered(records, draw_tasks(settings, sizes(settings).utility, seed), "host")


def _alone(record: Record) -> Record:
    """The code of an answer without its chat; what was asked is in `meta.prompt`."""
    asked = record.messages[0].content if record.messages else ""
    return replace(record, text=_text(record), messages=None, meta={**record.meta, "prompt": asked})


def _text(record: Record) -> str:
    return record.messages[-1].content if record.messages else record.content
