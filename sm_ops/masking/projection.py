"""Projection: intervals of one tokenizer meet those of another in the characters they share (section 6)."""

from __future__ import annotations

import numpy as np


def overlap(
    starts: np.ndarray, ends: np.ndarray, selected_starts: np.ndarray, selected_ends: np.ndarray
) -> np.ndarray:
    """Which intervals share at least one character with the union of the selected intervals (bool).

    All intervals are half-open, in any order, and may overlap; empty ones neither give nor receive (OP-17).
    A prefix count over the characters: O(intervals + characters).
    """
    length = _length(ends, selected_ends)
    change = np.zeros(length + 1, np.int64)
    np.add.at(change, selected_starts, 1)
    np.add.at(change, selected_ends, -1)
    covered = np.concatenate([[0], np.cumsum(np.cumsum(change) > 0)])
    return covered[ends] > covered[starts]


def largest_overlap(
    starts: np.ndarray, ends: np.ndarray, other_starts: np.ndarray, other_ends: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """For each interval the largest value of the others that share a character, else minus infinity."""
    level = np.full(_length(ends, other_ends) + 1, -np.inf)
    lengths = other_ends - other_starts
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    np.maximum.at(level, np.repeat(other_starts, lengths) + within, np.repeat(values, lengths))
    if not len(starts):
        return np.empty(0)
    largest = np.maximum.reduceat(level, np.column_stack([starts, ends]).ravel())[::2]
    return np.where(ends > starts, largest, -np.inf)


def _length(*ends: np.ndarray) -> int:
    return max((int(end.max()) for end in ends if len(end)), default=0)
