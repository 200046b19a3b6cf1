"""The validation and the application side: no source is on both, and what they share all the same is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sm_ops.core.errors import InputError
from sm_ops.core.seeds import derive
from sm_ops.ranking.pairs import Pair


def split(pairs: Sequence[Pair], share: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Whole groups, in an order that a hash of seed and name decides, until the first side has its share of pairs.

    Raises `InputError` where one of the sides stays empty.
    """
    sizes = Counter(pair.group for pair in pairs)
    first, wanted = set(), share * len(pairs)
    for group in sorted(sizes, key=lambda name: derive(seed, "side", name)):
        if sum(sizes[name] for name in first) >= wanted:
            break
        first.add(group)
    sides = [pair for pair in pairs if pair.group in first], [pair for pair in pairs if pair.group not in first]
    if not all(sides):
        hint = f"{len(pairs)} pairs of {len(sizes)} groups do not fill two sides; give more groups, or another share."
        raise InputError("too-few-groups", hint)
    return sides


def check_apart(validation: Sequence[Pair], application: Sequence[Pair]) -> None:
    """Raise `InputError` where a group is on both sides."""
    if common := {pair.group for pair in validation} & {pair.group for pair in application}:
        hint = (
            f"{len(common)} groups have pairs in the validation and in the application file; a source must stay on one "
            "side: leave them out of one, or give one file and let it be split."
        )
        raise InputError("groups-on-both-sides", hint)


def shared_outputs(validation: Sequence[Pair], application: Sequence[Pair]) -> int:
    """How many outputs of the application side are outputs of the validation side too, letter by letter."""
    known = {text for pair in validation for text in (pair.safe, pair.risky)}
    return sum(text in known for pair in application for text in (pair.safe, pair.risky))
