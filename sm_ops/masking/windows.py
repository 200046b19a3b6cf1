"""Windows and their scores, exact on every machine because all sums are sums of integers.

`windows_of` gives a rule's windows over a corpus: runs of n adjacent tokens, or the tokens of intervals of the text.
Both kinds offer the same: `scores` of the windows, `votes` of selected windows on each position, and the
`kth_largest` level among the windows that hold a position. Windows are numbered record by record; record r has the
windows `bounds[r]:bounds[r + 1]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.registry import load
from sm_ops.masking import consensus
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.kernels import GRID, grid_scores, mean_scores

AGGREGATES = ("mean", "top")
TOP = 3
"""How many of the largest token scores `top` averages (paper D.5, OP-13)."""
_BLOCK = 1 << 15


def windows_of(corpus: Corpus, kind: str, n: int) -> FixedWindows | IntervalWindows:
    """The windows of a corpus: `fixed` of width n, or a kind of `masking/intervals/`, which needs the records."""
    if kind == "fixed":
        return FixedWindows(corpus.bounds, n)
    if corpus.records is None:
        raise InputError("no-records", f"Windows {kind!r} follow the text; give the records beside their scores.")
    return IntervalWindows.over(corpus, corpus.records, load("window", kind).intervals)


@dataclass(frozen=True, slots=True)
class FixedWindows:
    """Every run of n adjacent positions of one record, numbered by its first position (paper D.1).

    A start without a valid window stays in the numbering as invalid (OP-09).
    """

    bounds: np.ndarray
    n: int

    def scores(self, corpus: Corpus, aggregate: str = "mean") -> np.ndarray:
        """The aggregate of each window's token scores, float64 per position; NaN where no valid window starts.

        Valid: n positions of one record, all eligible and all with a finite score.
        """
        scores = mean_scores(corpus.surprise, corpus.eligible, self.bounds, self.n)
        valid = ~np.isnan(scores)
        if aggregate == "top" and self.n > TOP and valid.any():
            grid, _ = grid_scores(corpus.surprise, corpus.eligible)
            scores[valid] = self._top_sums(grid)[valid] / TOP / GRID
        return scores

    def votes(self, selected: np.ndarray) -> np.ndarray:
        """How many selected windows hold each position (paper D.3)."""
        return consensus.votes(selected, self.n)

    def kth_largest(self, levels: np.ndarray, k: int) -> np.ndarray:
        """The k-th largest level (minus infinity = invalid) of the windows that hold each position."""
        return consensus.kth_largest(levels, self.n, k)

    def members(self, window: int) -> np.ndarray:
        """The flat positions of a window."""
        return np.arange(window, window + self.n)

    def _top_sums(self, grid: np.ndarray) -> np.ndarray:
        padded = np.concatenate([grid, np.zeros(self.n - 1, grid.dtype)])
        runs = np.lib.stride_tricks.sliding_window_view(padded, self.n)
        blocks = [runs[top : top + _BLOCK] for top in range(0, len(grid), _BLOCK)]
        return np.concatenate([np.partition(block, self.n - TOP, axis=1)[:, -TOP:].sum(axis=1) for block in blocks])


@dataclass(frozen=True, slots=True)
class IntervalWindows:
    """The eligible tokens that overlap each of given character intervals (OP-10).

    Window w holds the flat positions `positions[edges[w]:edges[w + 1]]`, increasing and below `size`; it may hold none.
    """

    size: int
    bounds: np.ndarray
    positions: np.ndarray
    edges: np.ndarray

    @classmethod
    def over(
        cls, corpus: Corpus, records: Sequence[Record], intervals: Callable[[Record], list[tuple[int, int]]]
    ) -> IntervalWindows:
        """A token that reaches into two intervals belongs to both; one of zero length belongs to none."""
        counts, members = [0], [np.empty(0, np.int64)]
        for record, (first, stop) in zip(records, pairwise(corpus.bounds.tolist()), strict=True):
            own = first + np.flatnonzero(corpus.eligible[first:stop])
            starts, ends = corpus.starts[own], corpus.ends[own]
            found = [own[np.maximum(starts, start) < np.minimum(ends, end)] for start, end in intervals(record)]
            members += found
            counts.append(len(found))
        return cls(
            size=len(corpus),
            bounds=np.cumsum(counts),
            positions=np.concatenate(members),
            edges=np.cumsum([len(each) for each in members]),  # the first of `members` is empty
        )

    def scores(self, corpus: Corpus, aggregate: str = "mean") -> np.ndarray:
        """The aggregate of each window's token scores; NaN without members or where a member has no score."""
        grid, usable = grid_scores(corpus.surprise, corpus.eligible)
        sizes = np.diff(self.edges)
        scores = np.full(len(sizes), np.nan)
        valid = (sizes > 0) & (_by_window(~usable[self.positions], self.edges) == 0)
        values = grid[self.positions]
        if aggregate == "top":
            window = np.repeat(np.arange(len(sizes)), sizes)
            order = np.lexsort((-values, window))
            place = np.arange(len(order)) - self.edges[window]
            values = np.where(place < TOP, values[order], 0)
            sizes = np.minimum(sizes, TOP)
        scores[valid] = _by_window(values, self.edges)[valid] / sizes[valid] / GRID
        return scores

    def votes(self, selected: np.ndarray) -> np.ndarray:
        """How many selected windows hold each position."""
        return np.bincount(self.positions[np.repeat(selected, np.diff(self.edges))], minlength=self.size)

    def kth_largest(self, levels: np.ndarray, k: int) -> np.ndarray:
        """The k-th largest level (minus infinity = invalid) of the windows that hold each position."""
        held = np.repeat(levels, np.diff(self.edges))
        order = np.lexsort((-held, self.positions))
        holding = np.bincount(self.positions, minlength=self.size)
        kth = np.cumsum(holding) - holding + k - 1
        enough = holding >= k
        result = np.full(self.size, -np.inf)
        result[enough] = held[order][kth[enough]]
        return result

    def members(self, window: int) -> np.ndarray:
        """The flat positions of a window."""
        return self.positions[self.edges[window] : self.edges[window + 1]]


def _by_window(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    prefix = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    return np.diff(prefix[edges])
