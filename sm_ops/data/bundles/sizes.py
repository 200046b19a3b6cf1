"""How many bundles a data set has: the numbers of its settings, or the paper's at a scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.data.bundles.making import PER_BUNDLE

PAPER = {"train": (25, 625), "calibration": (5, 30)}
"""People and bundles of the paper's sets (A.1); that calibration has five people is our choice."""
DEVELOPMENT = 150
"""Tasks that utility is measured on, each in two phrasings (B.2)."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """People and bundles of each person by split, tasks to measure utility on, and clean records.

    These are for the reference, and implementations for training beside those of the bundles.
    """

    people: dict[str, int]
    bundles: dict[str, int]
    utility: int
    reference: int
    implementations: int

    def uses(self, split: str) -> int:
        """How often each value of a split is used."""
        return self.bundles[split] * PER_BUNDLE


def sizes(settings: Any) -> Sizes:
    """The sizes that settings ask for; `scale` stands in for all but `reference` and `implementations`.

    Numbers of people and of bundles shrink in proportion, and every value is used equally often: 100 times at scale 1.
    Raises `InputError` where a number of repetitions is no multiple of the uses in one bundle.
    """
    if settings.scale is not None:
        people = {split: max(1, round(many * settings.scale)) for split, (many, _) in PAPER.items()}
        bundles = {split: max(1, round(whole * settings.scale / people[split])) for split, (_, whole) in PAPER.items()}
        utility = max(1, round(DEVELOPMENT * settings.scale))
        return Sizes(people, bundles, utility, settings.reference, settings.implementations)
    people = {"train": settings.identities, "calibration": settings.calibration_identities}
    uses = {"train": settings.repetitions, "calibration": settings.calibration_repetitions}
    for split, often in uses.items():
        if often % PER_BUNDLE:
            name = "repetitions" if split == "train" else "calibration_repetitions"
            raise InputError(
                "uneven-repetitions",
                f"data.{name} is {often}, but a bundle uses every value {PER_BUNDLE} times; take a multiple of that.",
            )
    bundles = {split: often // PER_BUNDLE for split, often in uses.items()}
    return Sizes(people, bundles, settings.utility, settings.reference, settings.implementations)
