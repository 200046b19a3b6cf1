"""Folds: a labelled pool split several times into a validation and an application side without a common group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.seeds import derive


@dataclass(frozen=True, slots=True)
class Fold:
    """Two sides of a pool; no group (repository, document, template) is on both."""

    validation: list[Record]
    application: list[Record]


def folds(
    records: Sequence[Record], count: int, seed: int, validation: int | None = None, application: int | None = None
) -> list[Fold]:
    """So many folds of a pool, each a division of its own: a record may be in several, as in the paper.

    Groups (a record without one is its own) come in an order that a hash of seed, fold and name decides. They fill the
    validation side up to `validation` records (None: half of the pool), the others the application side up to
    `application` (None: all that are left); a group that would exceed its side is cut, and what is cut is unused. So
    the order of the records changes nothing; records keep it. Adding a fold leaves the others as they are.

    Raises `InputError` where a size is not positive, or the groups are too few to fill both sides.
    """
    if count < 1 or any(size is not None and size < 1 for size in (validation, application)):
        raise InputError("bad-folds", "The number of folds and the sizes of their sides are 1 or more.")
    return [_fold(records, seed, number, validation, application) for number in range(count)]


def _fold(records: Sequence[Record], seed: int, number: int, validation: int | None, application: int | None) -> Fold:
    members: dict[str, list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        members[_group(record)].append(index)
    order = sorted(members, key=lambda name: (derive(seed, "fold", str(number), name), name))
    wanted = len(records) // 2 if validation is None else validation
    first: list[str] = []
    while order and sum(len(members[name]) for name in first) < wanted:
        first.append(order.pop(0))
    if validation is None and len(first) > 1 and _overshoots(first, members, wanted):
        order.insert(0, first.pop())
    sides = [_side(records, members, first, validation, seed), _side(records, members, order, application, seed)]
    for name, side, size in zip(("validation", "application"), sides, (validation, application), strict=True):
        if not side or (size is not None and len(side) < size):
            pool = f"the {len(records)} of the pool are of {len(members)} groups"
            hint = f"The {name} side of fold {number} would have {len(side)} records: {pool}; ask for less or add data."
            raise InputError("few-groups", hint)
    return Fold(*sides)


def _overshoots(first: Sequence[str], members: dict[str, list[int]], wanted: int) -> bool:
    """Whether a side is nearer to its size without its last group."""
    size = sum(len(members[name]) for name in first)
    return size - wanted > wanted - (size - len(members[first[-1]]))


def _side(
    records: Sequence[Record], members: dict[str, list[int]], groups: Sequence[str], size: int | None, seed: int
) -> list[Record]:
    """The records of some groups in the pool's order, the last group cut to fit."""
    taken: list[int] = []
    for name in groups:
        ranked = sorted(members[name], key=lambda index: (derive(seed, "cut", records[index].id), records[index].id))
        taken.extend(ranked[: None if size is None else size - len(taken)])
    return [records[index] for index in sorted(taken)]


def _group(record: Record) -> str:
    return f"record {record.id}" if record.group is None else f"group {record.group}"
