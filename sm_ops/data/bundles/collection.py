"""All bundles of a data set, and the tasks beside them; the same for equal settings and seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sm_ops.data.bundles.bundle import RECORDS, Bundle
from sm_ops.data.bundles.making import make
from sm_ops.data.bundles.sizes import Sizes, sizes
from sm_ops.data.identities import Identity, identities
from sm_ops.data.tasks import Task, pool


@dataclass(frozen=True, slots=True)
class Collection:
    """People and bundles of training and calibration, clean bundles for the reference, and tasks without a bundle.

    Utility is measured on those of `development`; the solutions of `implementations` are trained on.
    """

    sizes: Sizes
    people: dict[str, list[Identity]] = field(repr=False)
    bundles: dict[str, list[Bundle]]
    development: list[Task]
    implementations: list[Task]

    @property
    def private(self) -> Iterator[Bundle]:
        """The bundles that values were planted into."""
        return (bundle for bundle in (*self.bundles["train"], *self.bundles["calibration"]))


def draw_tasks(settings: Any, count: int, seed: int) -> list[Task]:
    """The first tasks of the kind that settings ask for (see `tasks.pool`); utility has the first of all."""
    return pool(count, seed, settings.families, settings.solution_chars)


def collect(settings: Any, seed: int) -> Collection:
    """The bundles that settings ask for; no task serves twice (see `tasks.pool`) and no person two splits."""
    wanted = sizes(settings)
    people = {split: identities(split, many, seed) for split, many in wanted.people.items()}
    owners: dict[str, list[Identity | None]] = {
        split: [person for person in people[split] for _ in range(wanted.bundles[split])] for split in people
    }
    owners["reference"] = [None] * -(-wanted.reference // RECORDS[settings.form])
    bundled = wanted.utility + sum(map(len, owners.values()))
    drawn = draw_tasks(settings, bundled + wanted.implementations, seed)
    order = iter(drawn)
    development = [next(order) for _ in range(wanted.utility)]
    bundles = {
        split: [
            make(next(order), person, Random(f"{seed}/bundle/{split}/{number}")) for number, person in enumerate(them)
        ]
        for split, them in owners.items()
    }
    return Collection(wanted, people, bundles, development, drawn[bundled:])
