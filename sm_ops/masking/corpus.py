"""A corpus as flat arrays: the reference tokens of all records, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sm_ops.core.tokens import Scored


@dataclass(frozen=True, slots=True)
class Corpus:
    """Concatenated records: record r owns the positions `bounds[r]:bounds[r + 1]`.

    `ids` int64, `logprobs` float64 in nats (NaN = missing) and `eligible` bool (OP-03) have one entry per
    token; `groups` int64 has one per record, and a record without a group key has its own number (OP-15).
    """

    ids: np.ndarray
    logprobs: np.ndarray
    eligible: np.ndarray
    bounds: np.ndarray
    groups: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def from_scored(cls, records: Sequence[Scored]) -> Corpus:
        """Concatenate scored records in the given order."""
        keys = [(index, None) if record.group is None else (None, record.group) for index, record in enumerate(records)]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return cls(
            ids=_concatenate([record.tokens.ids for record in records], np.int64),
            logprobs=_concatenate([record.logprobs for record in records], np.float64),
            eligible=_concatenate([record.tokens.eligible for record in records], np.bool_),
            bounds=np.cumsum([0, *(len(record.tokens) for record in records)], dtype=np.int64),
            groups=np.array([numbers[key] for key in keys], dtype=np.int64),
        )

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """Cut an array over the flat positions into one view per record."""
        return [flat[start:end] for start, end in pairwise(self.bounds.tolist())]


def _concatenate(arrays: list[np.ndarray], dtype: type[np.generic]) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)
