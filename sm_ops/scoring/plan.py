"""What is computed together: batches that depend on the set of texts, and on nothing else.

Every sequence is a fixed head followed by tokens of a record; a text longer than the model's context is cut into
overlapping rows (OP-06). Equal rows are computed once. Rows are ordered by length, then by a digest of their ids, so
neither the order of the records nor the number of shards or workers can change a batch, and with it a last bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.core.types import Progress
from sm_ops.scoring.grid import to_grid


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens `first:stop` of a record in one forward pass, of which `fresh:stop` get their score there."""

    first: int
    fresh: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first


def chunks(length: int, context: int, head: int) -> Iterator[Chunk]:
    """OP-06: cut `length` tokens for a model of `context` positions, `head` of which a fixed head takes."""
    room, overlap = context - head, context // 2
    stop = min(length, room)
    yield Chunk(0, 0, stop)
    while stop < length:
        first, fresh = stop - overlap, stop
        stop = min(length, first + room)
        yield Chunk(first, fresh, stop)


@dataclass(frozen=True, slots=True)
class Row:
    """Token ids (int64) of one sequence behind a head; the first `known` are context, the others get a score."""

    ids: np.ndarray
    known: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one forward pass, the longest first, and the number of the head that stands before each."""

    head: int
    rows: tuple[Row, ...]

    @property
    def scores(self) -> int:
        """How many log probabilities it gives, row after row."""
        return sum(len(row.ids) - row.known for row in self.rows)


class Plan:
    """Batches for the records, and where each of their log probabilities belongs."""

    def __init__(
        self,
        records: Sequence[Record],
        tokens: Sequence[Tokens],
        bodies: Sequence[int],
        heads: Sequence[int],
        context: int,
        token_budget: int,
    ) -> None:
        """`bodies` are the tokens at each record's start that are left out; `heads` are the heads' lengths.

        A batch has at most `token_budget` positions, padding and head included, or one row.
        """
        self.batches: list[Batch] = []
        self._records, self._tokens, self._passes = records, tokens, len(heads)
        self._places: list[list[list[tuple[int, int]]]] = []  # by batch and row: (record, first scored token)
        for head, length in enumerate(heads):
            rows: dict[tuple[int, bytes, int], Row] = {}
            places: dict[tuple[int, bytes, int], list[tuple[int, int]]] = {}
            for index, (body, each) in enumerate(zip(bodies, tokens, strict=True)):
                for chunk in chunks(len(each) - body, context, length):
                    if not len(chunk):
                        continue
                    ids = each.ids[body + chunk.first : body + chunk.stop]
                    key = (-len(chunk), hashlib.sha256(ids.tobytes()).digest(), chunk.fresh - chunk.first)
                    rows.setdefault(key, Row(ids, chunk.fresh - chunk.first))
                    places.setdefault(key, []).append((index, body + chunk.fresh))
            for keys in _cut(sorted(rows), token_budget, length):
                self.batches.append(Batch(head, tuple(rows[key] for key in keys)))
                self._places.append([places[key] for key in keys])

    def collect(self, results: Iterable[tuple[int, np.ndarray]], progress: Progress | None = None) -> list[Scored]:
        """Scores of the records in their order from `(batch number, its log probabilities)`, in any order."""
        values = np.full((self._passes, sum(map(len, self._tokens))), np.nan)
        starts = np.cumsum([0, *map(len, self._tokens)])
        waiting = np.zeros(len(self._records), dtype=np.int64)
        for batch in self._places:
            for record, _ in (place for row in batch for place in row):
                waiting[record] += 1
        done = int((waiting == 0).sum())
        for number, found in results:
            batch = self.batches[number]
            cuts = np.cumsum([len(row.ids) - row.known for row in batch.rows])[:-1]
            for own, places in zip(np.split(found, cuts), self._places[number], strict=True):
                for record, first in places:
                    values[batch.head, starts[record] + first :][: len(own)] = own
                    waiting[record] -= 1
                    done += waiting[record] == 0
            if progress is not None:
                progress(int(done), len(self._records))
        special = [each.special for each in self._tokens]
        values[:, np.concatenate([*special, np.empty(0, bool)])] = np.nan
        parts = np.split(to_grid(values), starts[1:-1], axis=1)
        return [
            Scored(record.id, record.group, tokens, part[0], *part[1:])
            for record, tokens, part in zip(self._records, self._tokens, parts, strict=False)
        ]


def _cut(
    keys: Sequence[tuple[int, bytes, int]], token_budget: int, head: int
) -> Iterator[list[tuple[int, bytes, int]]]:
    batch: list[tuple[int, bytes, int]] = []
    for key in keys:
        if batch and (len(batch) + 1) * (head - batch[0][0]) > token_budget:
            yield batch
            batch = []
        batch.append(key)
    if batch:
        yield batch
