"""Labelled units under several filters: characters, tokens or lines of all records, pooled (spec section 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.intervals import line
from sm_ops.masking.projection import overlap
from sm_ops.sanitizing.labels import categories, clusters, left_out
from sm_ops.sanitizing.profiles import Profile

Profiles = Mapping[str, Sequence[Profile]]
"""For each filter the profile of every record."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units of labelled records; one entry stands for `weight` units of one record that share everything.

    Arrays of equal length: `weight`, `record`, `cluster` int64 (a document's or repository's number), `gold` bool (a
    target); `members` says for each category which entries belong to it (bool), `levels` for each filter what it says
    of them (float64; masked at tau exactly when the level is at least tau).
    """

    weight: np.ndarray
    record: np.ndarray
    cluster: np.ndarray
    gold: np.ndarray
    members: dict[str, np.ndarray]
    levels: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.weight)

    def where(self, kept: np.ndarray) -> Units:
        """The entries of which `kept` (bool) is true."""
        return Units(
            *(getattr(self, name)[kept] for name in ("weight", "record", "cluster", "gold")),
            members={name: own[kept] for name, own in self.members.items()},
            levels={name: own[kept] for name, own in self.levels.items()},
        )

    def of_category(self, names: Sequence[str], whole_documents: bool = True) -> Units:
        """The units as one category (or a family of them) sees them: its own are gold, those of others are left out.

        With `whole_documents` false only records that hold a unit of the category count: the family view (section 7).
        """
        own = np.any([np.zeros(len(self), bool), *(self.members[name] for name in names if name in self.members)], 0)
        seen = own | ~self.gold
        if not whole_documents:
            seen &= np.isin(self.record, np.unique(self.record[own]))
        return replace(self, gold=own).where(seen)


def characters(records: Sequence[Record], profiles: Profiles) -> Units:
    """All characters of the records but those that are left out, as runs that share labels and levels."""

    def pieces(index: int, record: Record) -> tuple[np.ndarray, np.ndarray]:
        own = [profiles[name][index].edges for name in profiles]
        edges = [np.array([start, end]) for start, end, *_ in [*record.content_spans, *left_out(record)]]
        found = np.unique(np.concatenate([np.array([0, len(record.content)]), *own, *edges]))
        return found[:-1], found[1:]

    return _units(records, profiles, pieces, weighted=True)


def tokens(records: Sequence[Record], profiles: Profiles, tokenized: Sequence[Tokens]) -> Units:
    """The eligible tokens of the records; a token's level is the largest within it, and it is a target by overlap."""

    def pieces(index: int, record: Record) -> tuple[np.ndarray, np.ndarray]:
        own = tokenized[index]
        return own.starts[own.eligible], own.ends[own.eligible]

    return _units(records, profiles, pieces)


def lines(records: Sequence[Record], profiles: Profiles) -> Units:
    """The lines of the records that are not blank (OP-11, OP-18)."""

    def pieces(index: int, record: Record) -> tuple[np.ndarray, np.ndarray]:
        found = np.array(line.intervals(record), np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    return _units(records, profiles, pieces)


Pieces = Callable[[int, Record], tuple[np.ndarray, np.ndarray]]


def _units(records: Sequence[Record], profiles: Profiles, pieces: Pieces, weighted: bool = False) -> Units:
    names, numbers = categories(records), clusters(records)
    columns: dict[str, list[np.ndarray]] = {}
    for index, record in enumerate(records):
        starts, ends = pieces(index, record)
        members = {name: _meet(starts, ends, _of(record, name)) for name in names}
        gold = np.any([np.zeros(len(starts), bool), *members.values()], axis=0)
        kept = gold | ~_meet(starts, ends, left_out(record))
        row = {
            "weight": ends - starts if weighted else np.ones(len(starts), np.int64),
            "record": np.full(len(starts), index, np.int64),
            "cluster": np.full(len(starts), numbers[index], np.int64),
            "gold": gold,
            **{f"member {name}": own for name, own in members.items()},
            **{f"level {name}": own[index].largest(starts, ends) for name, own in profiles.items()},
        }
        for name, values in row.items():
            columns.setdefault(name, []).append(values[kept])
    whole = {name: np.concatenate(parts) for name, parts in columns.items()}
    return Units(
        whole["weight"],
        whole["record"],
        whole["cluster"],
        whole["gold"],
        {name: whole[f"member {name}"] for name in names},
        {name: whole[f"level {name}"] for name in profiles},
    )


def _of(record: Record, category: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end, label in record.content_spans if label == category]


def _meet(starts: np.ndarray, ends: np.ndarray, intervals: Sequence[tuple[int, int]]) -> np.ndarray:
    if not intervals:
        return np.zeros(len(starts), bool)
    edges = np.array(intervals, np.int64)
    return overlap(starts, ends, edges[:, 0], edges[:, 1])
