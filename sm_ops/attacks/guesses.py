"""What guesses at slots amount to: how many are right, without what a public model knows anyway (section III-D)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sm_ops.attacks.material import Row
from sm_ops.attacks.measures import Measure, by_class, groups, rate, ratio
from sm_ops.core.errors import InputError

VARIANTS = ("none", "paper", "repo")
"""Which cases are left out: none; those that the baseline gets right; those where both guess the same."""


def variants(rows: Sequence[Row], baseline: Sequence[Row] | None, *keys: str) -> Iterator[tuple[str, list[Row]]]:
    """The rows that each variant keeps; without a baseline there is nothing to leave out.

    Rows belong together by their `case` and what `keys` name. No guess is not an equal guess. Raises `InputError`
    where the baseline was asked other cases.
    """
    known = {_name(row, keys): row for row in baseline or ()}
    if baseline is not None and any(_name(row, keys) not in known for row in rows):
        raise InputError(
            "other-cases",
            "The baseline was attacked at other slots; attack it with the same records, settings and seed.",
        )
    for variant in VARIANTS:
        yield variant, [row for row in rows if not _left_out(variant, row, known.get(_name(row, keys)))]


def accuracy(rows: Sequence[Row], baseline: Sequence[Row] | None, *keys: str, **labels: Any) -> list[Measure]:
    """Accuracy in each variant: of all rows, of each class and of each number of occurrences."""
    return [
        rate("accuracy", sum(row["hit"] for row in own), len(own), **group, variant=variant, **labels)
        for variant, kept in variants(rows, baseline, *keys)
        for group, own in groups(kept)
    ]


def circumstances(rows: Sequence[Row], **labels: Any) -> list[Measure]:
    """How much stood in the way: masks around a slot and whether they were filled, by class."""
    result = []
    for group, own in by_class(rows):
        masked = [row for row in own if row["masks"]]
        result.append(ratio("masks", [row["masks"] for row in own], [1] * len(own), **group, **labels))
        result.append(rate("filled", sum(row["filled"] for row in masked), len(masked), **group, **labels))
    return result


def _name(row: Row, keys: Sequence[str]) -> tuple[Any, ...]:
    return (row["case"], *(row[key] for key in keys))


def _left_out(variant: str, row: Row, base: Row | None) -> bool:
    if base is None or variant == "none":
        return False
    if variant == "paper":
        return base["hit"]
    return base["guess"] is not None and base["guess"] == row["guess"]
