"""A corpus as flat arrays: the reference tokens of all records, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored


@dataclass(frozen=True, slots=True)
class Corpus:
    """Concatenated records: record r owns the positions `bounds[r]:bounds[r + 1]`.

    `ids` int64, `surprise` float64 (larger = more suspicious, NaN = missing), `eligible` bool (OP-03) and the
    character offsets `starts` and `ends` int64 have one entry per token; `groups` int64 has one per record, and a
    record without a group key has its own number (OP-15). Interval windows also need the `records` themselves.
    """

    ids: np.ndarray
    surprise: np.ndarray
    eligible: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    bounds: np.ndarray
    groups: np.ndarray
    records: Sequence[Record] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def from_scored(cls, scored: Sequence[Scored], records: Sequence[Record] | None = None) -> Corpus:
        """Concatenate scored records in the given order; `records`, where given, are the same in that order."""
        return cls(
            ids=_concatenate([each.tokens.ids for each in scored], np.int64),
            surprise=_concatenate([each.surprise for each in scored], np.float64),
            eligible=_concatenate([each.tokens.eligible for each in scored], np.bool_),
            starts=_concatenate([each.tokens.starts for each in scored], np.int64),
            ends=_concatenate([each.tokens.ends for each in scored], np.int64),
            bounds=np.cumsum([0, *(len(each.tokens) for each in scored)], dtype=np.int64),
            groups=group_numbers([each.group for each in scored]),
            records=records,
        )

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """Cut an array over the flat positions into one view per record."""
        return [flat[start:end] for start, end in pairwise(self.bounds.tolist())]


def group_numbers(groups: Sequence[str | None]) -> np.ndarray:
    """A number per record (int64), equal within a group; a record without one has a number of its own (OP-15)."""
    keys = [(index, None) if group is None else (None, group) for index, group in enumerate(groups)]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _concatenate(arrays: list[np.ndarray], dtype: type[np.generic]) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)
