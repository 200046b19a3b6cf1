"""Executable Code PII: small repositories around programming tasks, whose tests run, with private values planted in.

Paper, section A.1: of each bundle's 24 files 16 hold a private value, in code and in settings of ten formats. Settings:
`scale` (1: the paper's sizes), or else `identities` and `repetitions` (uses of each value; a bundle has four),
`calibration_identities`, `calibration_repetitions`, `utility` (tasks; two phrasings each as chats); `reference` (clean
records); `form`: `chat` for 18 chats a bundle, `text` for 24 documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.bundles import SUITE, Bundle, collect
from sm_ops.data.bundles.views import SOLUTION, chats, documents, solved
from sm_ops.data.dataset import Canary, Dataset, Trial
from sm_ops.data.identities import KINDS
from sm_ops.data.tasks import check_library


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
        [record for records in answered for record in records]
        if chat
        else [replace(first, text=_text(first), messages=None) for first, _ in answered]
    )
    splits = {split: _numbered(split, found[split], seed) for split in ("calibration", "train", "utility", "reference")}
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
    """Every bundle's tests before and after planting and with the slip of its repair, and the solutions of utility.

    Raises `InputError` where exstruct is not installed, and `StageError` for a record whose text is none of the files
    that are run.
    """
    check_library()
    made = collect(settings, seed)
    run: set[str] = {task.solution for task in made.development}
    for bundle in (*made.private, *made.bundles["reference"]):
        planted = bundle.planted
        run |= {*planted.values(), bundle.clean["solution.py"]}
        yield Trial(bundle.task.id, "before", bundle.program(bundle.clean), SUITE)
        if bundle.plantings:
            yield Trial(bundle.task.id, "after", bundle.program(planted), SUITE)
        yield Trial(bundle.task.id, "slip", bundle.program(bundle.clean | {SOLUTION: bundle.task.faulty}), SUITE, False)
    for task in made.development:
        yield Trial(task.id, "solution", task.program(task.solution))
    strangers = [record.id for record in dataset.records if _text(record) not in run]
    if strangers:
        raise StageError(
            "not-run",
            f"{len(strangers)} records hold a text that no bundle has, the first of them {strangers[0]}; these records "
            "were not made by this version with this seed, so make them again.",
        )


def _text(record: Record) -> str:
    return record.messages[-1].content if record.messages else record.content
