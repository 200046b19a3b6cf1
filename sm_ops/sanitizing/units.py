"""Labelled units under several filters: characters, tokens or lines of all records, pooled (spec section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.intervals import line
from sm_ops.masking.projection import overlap
from sm_ops.sanitizing.labels import clusters, left_out
from sm_ops.sanitizing.profiles import Profile, increasing, joined

Profiles = Mapping[str, Sequence[Profile]]
"""For each filter the profile of every record."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units of labelled records; one entry stands for `weight` units of one record that share everything.

    Arrays of equal length: `weight`, `record`, `cluster` int64 (a document's or repository's number), `gold` bool (a
    target); `levels` for each filter what it says of them (float64; masked at tau exactly when the level is at least
    tau). `members` has for each category the numbers of its entries (int64, increasing).
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
        number = np.cumsum(kept) - 1
        return Units(
            *(getattr(self, name)[kept] for name in ("weight", "record", "cluster", "gold")),
            members={name: number[own[kept[own]]] for name, own in self.members.items()},
            levels={name: own[kept] for name, own in self.levels.items()},
        )

    def of_category(self, names: Sequence[str], whole_documents: bool = True) -> Units:
        """The units as one category (or a family of them) sees them: its own are gold, those of others are left out.

        With `whole_documents` false only records that hold a unit of the category count: the family view (section 7).
        """
        own = np.zeros(len(self), bool)
        for name in names:
            own[self.members.get(name, [])] = True
        seen = own | ~self.gold
        if not whole_documents:
            seen &= np.isin(self.record, np.unique(self.record[own]))
        members = {name: self.members[name] for name in names if name in self.members}
        return replace(self, gold=own, members=members).where(seen)


def characters(records: Sequence[Record], profiles: Profiles) -> Units:
    """All characters of the records but those that are left out, as runs that share labels and levels."""
    corpus, whole = _Corpus.of(records), {name: joined(own) for name, own in profiles.items()}
    edges = increasing([corpus.bases, *corpus.edges(), *(own.edges for own in whole.values())])
    levels = {name: own.at(edges) for name, own in whole.items()}
    return corpus.units(edges[:-1], edges[1:], np.diff(edges), levels)


def tokens(records: Sequence[Record], profiles: Profiles, tokenized: Sequence[Tokens]) -> Units:
    """The eligible tokens of the records; a token's level is the largest within it, and it is a target by overlap."""
    return _pieces(records, profiles, [(own.starts[own.eligible], own.ends[own.eligible]) for own in tokenized])


def lines(records: Sequence[Record], profiles: Profiles) -> Units:
    """The lines of the records that are not blank (OP-11, OP-18)."""
    found = [np.array(line.intervals(record), np.int64).reshape(-1, 2) for record in records]
    return _pieces(records, profiles, [(own[:, 0], own[:, 1]) for own in found])


def _pieces(records: Sequence[Record], profiles: Profiles, pieces: Sequence[tuple[np.ndarray, np.ndarray]]) -> Units:
    corpus = _Corpus.of(records)
    starts, ends = (_placed([own[side] for own in pieces], corpus.bases) for side in (0, 1))
    levels = {name: joined(own).largest(starts, ends) for name, own in profiles.items()}
    record = np.repeat(np.arange(len(records)), [len(own) for own, _ in pieces])
    return corpus.units(starts, ends, np.ones(len(starts), np.int64), levels, record)


_NONE = np.empty(0, np.int64)
Intervals = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class _Corpus:
    """Labelled records end to end: `bases` int64 of shape (records + 1), where each begins and the last one ends.

    `targets` (category -> starts, ends) and `left_out` count in that long text.
    """

    bases: np.ndarray
    cluster: np.ndarray
    targets: dict[str, Intervals]
    left_out: Intervals

    @classmethod
    def of(cls, records: Sequence[Record]) -> _Corpus:
        bases = np.concatenate([[0], np.cumsum([len(record.content) for record in records])]).astype(np.int64)
        targets: dict[str, list[tuple[int, int]]] = {}
        out: list[tuple[int, int]] = []
        for base, record in zip(bases.tolist(), records, strict=False):
            for start, end, label in record.content_spans:
                targets.setdefault(label, []).append((base + start, base + end))
            out += [(base + start, base + end) for start, end in left_out(record)]
        return cls(bases, clusters(records), {name: _columns(targets[name]) for name in sorted(targets)}, _columns(out))

    def edges(self) -> list[np.ndarray]:
        """Where labels begin and end."""
        return [edge for interval in (*self.targets.values(), self.left_out) for edge in interval]

    def units(
        self,
        starts: np.ndarray,
        ends: np.ndarray,
        weight: np.ndarray,
        levels: dict[str, np.ndarray],
        record: np.ndarray | None = None,
    ) -> Units:
        """The pieces of the text but those left out; without `record`, each lies in one record, by its place."""
        if record is None:
            record = np.searchsorted(self.bases, starts, "right") - 1
        gold = overlap(starts, ends, *_together(self.targets.values()))
        counted = gold | ~overlap(starts, ends, *self.left_out)
        entries = np.flatnonzero(gold)
        members = {name: entries[overlap(starts[entries], ends[entries], *own)] for name, own in self.targets.items()}
        return Units(weight, record, self.cluster[record], gold, members, levels).where(counted)


def _columns(intervals: Sequence[tuple[int, int]]) -> Intervals:
    found = np.array(intervals, np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _together(intervals: Iterable[Intervals]) -> Intervals:
    starts, ends = zip((_NONE, _NONE), *intervals, strict=True)
    return np.concatenate(starts), np.concatenate(ends)


def _placed(offsets: Sequence[np.ndarray], bases: np.ndarray) -> np.ndarray:
    """Offsets within records (an array each), in the text of all of them."""
    moved = [own.astype(np.int64) + base for own, base in zip(offsets, bases.tolist(), strict=False)]
    return np.concatenate([_NONE, *moved])
