"""Why a span is masked: the windows that were selected, and the masked sequences that it repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sm_ops.masking.corpus import Corpus
from sm_ops.masking.procedure import Applied
from sm_ops.masking.spans import merged


@dataclass(frozen=True, slots=True)
class Reason:
    """A masked span `start:end` of one record, in characters.

    `windows`: `(start, end, score)` of the selected windows with a token in it. `copies`: `(record, start, end)` of
    the masked sequences that it repeats, by the record's number. `other`: whether another filter masks some of it.
    """

    start: int
    end: int
    windows: list[tuple[int, int, float]]
    copies: list[tuple[int, int, int]]
    other: bool = False


def reasons(applied: Applied, corpus: Corpus) -> Iterator[list[Reason]]:
    """The masked spans of each record, in order."""
    cuts = zip(pairwise(corpus.bounds.tolist()), pairwise(applied.windows.bounds.tolist()), strict=True)
    for (first, stop), (first_window, stop_window) in cuts:
        masked = first + np.flatnonzero(applied.mask[first:stop])
        starts, ends = merged(corpus.starts[masked], corpus.ends[masked])
        found = [Reason(start, end, [], []) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        for window in first_window + np.flatnonzero(applied.selected[first_window:stop_window]):
            members = applied.windows.members(int(window))
            place = (*_characters(corpus, members), float(applied.scores[window]))
            for span in _spans(corpus, members[applied.mask[members]], starts):
                found[span].windows.append(place)
        copied = masked[applied.sources[masked] >= 0]
        for source in np.unique(applied.sources[copied]):
            record = int(np.searchsorted(corpus.bounds, source, side="right")) - 1
            place = (record, *_characters(corpus, np.arange(source, source + applied.length)))
            for span in _spans(corpus, copied[applied.sources[copied] == source], starts):
                found[span].copies.append(place)
        yield found


def combined(
    found: Sequence[Reason], intervals: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]
) -> list[Reason]:
    """One record's reasons once its mask is combined with another filter's.

    `intervals` are what is masked now, `others` what the other filter masks (characters); what the rule's reasons and
    those have in common with an interval is its reason.
    """
    told = []
    for start, end in intervals:
        near = [each for each in found if each.start < end and each.end > start]
        windows = [window for each in near for window in each.windows if window[0] < end and window[1] > start]
        copies = [copy for each in near for copy in each.copies]
        told.append(Reason(start, end, windows, copies, any(a < end and b > start for a, b in others)))
    return told


def _characters(corpus: Corpus, positions: np.ndarray) -> tuple[int, int]:
    return int(corpus.starts[positions].min()), int(corpus.ends[positions].max())


def _spans(corpus: Corpus, positions: np.ndarray, starts: np.ndarray) -> list[int]:
    """Which of the spans that begin at `starts` hold the given masked positions."""
    full = positions[corpus.ends[positions] > corpus.starts[positions]]
    return np.unique(np.searchsorted(starts, corpus.starts[full], side="right") - 1).tolist()
