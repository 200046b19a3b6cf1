"""Labelled records and what filters say of them, made by lot, and the same written out unit by unit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sm_ops.core.records import Record, Span
from sm_ops.sanitizing.profiles import Profile
from sm_ops.sanitizing.sides import Side


class Unit(NamedTuple):
    """One character, token or line: its record and group, the categories that it belongs to, and its level."""

    record: int
    group: str
    categories: frozenset[str]
    level: float


def record(number: int, text: str, spans=(), group: str | None = None, **meta) -> Record:
    """A record whose spans are `(start, end, category)`."""
    return Record(str(number), text=text, spans=tuple(Span(*span) for span in spans), group=group, meta=meta)


def profile(length: int, intervals) -> Profile:
    """A profile of intervals `(start, end, level)`."""
    starts, ends, levels = (np.array([each[place] for each in intervals]) for place in range(3))
    return Profile.of(length, starts, ends, levels)


def side(records, **intervals) -> Side:
    """A side from, for each filter, the intervals of every record."""
    return Side(
        records,
        {
            name: [profile(len(one.content), own) for one, own in zip(records, each, strict=True)]
            for name, each in intervals.items()
        },
    )


def by_lot(rng: np.random.Generator, documents: int = 5, filters=("surprise",)) -> tuple[list[Record], dict]:
    """Records with overlapping spans of three categories, some left out, and intervals with few distinct levels."""

    def some(length: int, most: int) -> list[tuple[int, int]]:
        starts = rng.integers(0, length + 1, int(rng.integers(0, most + 1)))
        return [(int(start), int(min(length, start + rng.integers(0, 9)))) for start in starts]

    records, levels = [], {name: [] for name in filters}
    for number in range(documents):
        text = "".join(rng.choice(list("ab \n"), int(rng.integers(0, 40))))
        spans = [(*each, str(rng.choice(["key", "name", "mail"]))) for each in some(len(text), 3) if each[0] < each[1]]
        left_out = [list(each) for each in some(len(text), 2)]
        group = None if rng.random() < 0.4 else f"group {rng.integers(2)}"
        records.append(record(number, text, spans, group, left_out=left_out))
        for own in levels.values():
            own.append([(*each, float(rng.integers(0, 4))) for each in some(len(text), 8)])
    return records, levels


def units(records, intervals, pieces) -> list[Unit]:
    """The units of the records that count: `pieces` gives their `(start, end)` in one record."""
    found = []
    for number, (one, levels) in enumerate(zip(records, intervals, strict=True)):
        out = one.meta.get("left_out", [])
        for start, end in pieces(one.content):
            inside = set(range(start, end))
            own = frozenset(label for a, b, label in one.content_spans if inside & set(range(a, b)))
            if own or not any(inside & set(range(a, b)) for a, b in out):
                level = max((level for a, b, level in levels if inside & set(range(a, b))), default=-np.inf)
                found.append(Unit(number, one.group or f"alone {number}", own, level))
    return found


def characters(text: str) -> list[tuple[int, int]]:
    return [(place, place + 1) for place in range(len(text))]


def auroc(positives, negatives) -> float | None:
    """By all pairs."""
    pairs = [(one > other) + (one == other) / 2 for one in positives for other in negatives]
    return sum(pairs) / len(pairs) if pairs else None


def counts(found, gold, tau) -> dict[str, int]:
    """TP, FP, FN and TN, one unit after the other."""
    cells = {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    for unit in found:
        masked = tau is not None and unit.level >= tau
        cells[{(1, 1): "tp", (1, 0): "fp", (0, 1): "fn", (0, 0): "tn"}[masked, gold(unit)]] += 1
    return cells
