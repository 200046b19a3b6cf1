"""Projection: intervals of one tokenizer meet those of another in the characters they share (section 6)."""

from __future__ import annotations

import numpy as np

from sm_ops.core.compiled import compiled


def overlap(starts: np.ndarray, ends: np.ndarray, selected_starts: np.ndarray, selected_ends: np.ndarray) -> np.ndarray:
    """Which intervals share at least one character with the union of the selected intervals (bool).

    All intervals are half-open, in any order, and may overlap; empty ones neither give nor receive (OP-17). A sorted
    sweep: linear where the ends and the selected starts are in order, as tokens are, else one sort.
    """
    some = selected_ends > selected_starts
    first, last = selected_starts[some], selected_ends[some]
    if np.any(first[1:] < first[:-1]):
        order = np.argsort(first)
        first, last = first[order], last[order]
    met = np.empty(len(starts), np.bool_)
    _meet(starts, ends, first, np.maximum.accumulate(last), met)
    return met


def largest_overlap(
    starts: np.ndarray, ends: np.ndarray, other_starts: np.ndarray, other_ends: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """For each interval the largest value of the others that share a character, else minus infinity.

    Linear in the number of intervals and their total length.
    """
    characters = max((int(each.max()) for each in (ends, other_ends) if len(each)), default=0)
    largest, level = np.full(len(starts), -np.inf), np.full(characters + 1, -np.inf)
    _reduce(starts, ends, other_starts, other_ends, values, level, largest)
    return largest


def _meet_by_search(
    starts: np.ndarray, ends: np.ndarray, first: np.ndarray, reach: np.ndarray, met: np.ndarray
) -> None:
    met[:] = False
    if len(first):
        begun = np.searchsorted(first, ends)
        met[:] = (begun > 0) & (reach[begun - 1] > starts) & (ends > starts)


@compiled(plain=_meet_by_search)
def _meet(starts, ends, first, reach, met):
    """Selected intervals begin at `first`, increasing; `reach` is how far those up to each one go."""
    in_order = True
    for number in range(1, len(ends)):
        in_order = in_order and ends[number - 1] <= ends[number]
    begun = 0  # selected intervals that begin before the present end
    for number in range(len(starts)):
        if not in_order:
            begun = np.searchsorted(first, ends[number])
        while begun < len(first) and first[begun] < ends[number]:
            begun += 1
        met[number] = begun > 0 and reach[begun - 1] > starts[number] and ends[number] > starts[number]


def _reduce_by_passes(
    starts: np.ndarray,
    ends: np.ndarray,
    other_starts: np.ndarray,
    other_ends: np.ndarray,
    values: np.ndarray,
    level: np.ndarray,
    largest: np.ndarray,
) -> None:
    lengths = other_ends - other_starts
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    np.maximum.at(level, np.repeat(other_starts, lengths) + within, np.repeat(values, lengths))
    some = ends > starts
    if np.any(some):
        largest[some] = np.maximum.reduceat(level, np.column_stack([starts, ends])[some].ravel())[::2]


@compiled(plain=_reduce_by_passes)
def _reduce(starts, ends, other_starts, other_ends, values, level, largest):
    """`level` per character: the largest value of the others there."""
    for number in range(len(other_starts)):
        for character in range(other_starts[number], other_ends[number]):
            level[character] = max(level[character], values[number])
    for number in range(len(starts)):
        for character in range(starts[number], ends[number]):
            largest[number] = max(largest[number], level[character])
