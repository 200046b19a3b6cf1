"""What a filter says of every character of a text: a level each, and a mask at whatever threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sm_ops.masking.projection import largest_overlap
from sm_ops.masking.spans import intervals


@dataclass(frozen=True, slots=True)
class Profile:
    """Levels of the characters of one text, as runs: `levels[i]` holds for `edges[i]:edges[i + 1]`.

    `edges` int64 of shape (runs + 1), from 0 to the text's length, increasing; `levels` float64 of shape (runs). A
    character is masked at a threshold exactly when its level is at least that; minus infinity = never (OP-20).
    """

    edges: np.ndarray
    levels: np.ndarray

    @classmethod
    def of(cls, length: int, starts: np.ndarray, ends: np.ndarray, levels: np.ndarray) -> Profile:
        """The profile of half-open intervals with levels: a character has the largest of those that cover it."""
        starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
        edges = increasing([np.array([0, length]), starts, ends])
        levels = np.asarray(levels, np.float64)
        return cls(edges, largest_overlap(edges[:-1], edges[1:], starts, ends, levels))

    def at(self, edges: np.ndarray) -> np.ndarray:
        """The levels of finer runs: `edges` begins and ends like the profile's and holds them all."""
        return self.levels[np.searchsorted(self.edges, edges[:-1], "right") - 1]

    def largest(self, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """The largest level within each half-open interval; minus infinity for an empty one."""
        return largest_overlap(starts, ends, self.edges[:-1], self.edges[1:], self.levels)

    def masked(self, tau: float) -> list[tuple[int, int]]:
        """The disjoint intervals, in order, that a threshold masks."""
        own = self.levels >= tau
        return intervals(self.edges[:-1][own], self.edges[1:][own])


def increasing(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The distinct values of int64 arrays in order."""
    values = np.sort(np.concatenate(arrays))
    return values[np.append(True, values[1:] != values[:-1])[: len(values)]]


def joined(profiles: Sequence[Profile]) -> Profile:
    """The profile of texts end to end."""
    bases = np.concatenate([[0], np.cumsum([own.edges[-1] for own in profiles])]).astype(np.int64)
    edges = [own.edges[:-1] + base for own, base in zip(profiles, bases[:-1].tolist(), strict=True)]
    levels = [own.levels for own in profiles]
    return Profile(np.concatenate([*edges, bases[-1:]]), np.concatenate([np.empty(0), *levels]))


def union_of(profiles: Sequence[Profile], thresholds: Sequence[float]) -> list[tuple[int, int]]:
    """The disjoint intervals of one text that any of its profiles masks at its own threshold."""
    own = [profile.levels >= tau for profile, tau in zip(profiles, thresholds, strict=True)]
    starts = np.concatenate([profile.edges[:-1][mask] for profile, mask in zip(profiles, own, strict=True)])
    ends = np.concatenate([profile.edges[1:][mask] for profile, mask in zip(profiles, own, strict=True)])
    return intervals(starts, ends)
