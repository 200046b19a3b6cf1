"""Surprise: the levels that a rule gives each character under a reference, streamed (spec sections 3 to 6 and 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sm_ops.calibration.critical import critical_values
from sm_ops.core.records import Record
from sm_ops.core.registry import load
from sm_ops.masking import rules
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.windows import windows_of
from sm_ops.sanitizing.levels import Row
from sm_ops.sanitizing.parts import CHARACTERS, parts


def rows(records: Iterable[Record], reference: Any, settings: Any) -> Iterator[Row]:
    """The levels of each record.

    Fixed windows give a token its critical value, and runs of equal ones are one interval. Windows of the text that
    need no votes (k = 1, no propagation) are the intervals themselves, with the windows' levels, so that a line or a
    sentence is masked whole. A rule that propagates within groups or the corpus is given all records at once.
    """
    rule = settings.rule
    alone = rule.propagate in ("none", "record")
    for part in parts(records, CHARACTERS) if alone else [list(records)]:
        corpus = Corpus.from_scored(reference.score(part), part)
        if rule.windows != "fixed" and rule.k == 1 and rule.propagate == "none":
            yield from _windows(part, corpus, rule)
        else:
            yield from _tokens(part, corpus, rule)


def _tokens(records: Sequence[Record], corpus: Corpus, rule: rules.Rule) -> Iterator[Row]:
    critical = critical_values(corpus, rule)
    for record, (first, stop) in zip(records, pairwise(corpus.bounds.tolist()), strict=True):
        kept = first + np.flatnonzero(critical[first:stop] > -np.inf)
        yield Row(record.id, *_runs(corpus.starts[kept], corpus.ends[kept], critical[kept]))


def _runs(starts: np.ndarray, ends: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Touching intervals of one level, in order, as one."""
    opens = np.append(True, (levels[1:] != levels[:-1]) | (starts[1:] > ends[:-1]))[: len(levels)]
    first = np.flatnonzero(opens)
    return starts[first], np.maximum.reduceat(ends, first) if len(first) else ends, levels[first]


def _windows(records: Sequence[Record], corpus: Corpus, rule: rules.Rule) -> Iterator[Row]:
    windows = windows_of(corpus, rule.windows, rule.n)
    levels = rules.levels(windows.scores(corpus, rule.agg), windows.bounds, rule)
    intervals = load("window", rule.windows).intervals
    for record, (first, stop) in zip(records, pairwise(windows.bounds.tolist()), strict=True):
        places = np.array(intervals(record), np.int64).reshape(-1, 2)
        own = levels[first:stop]
        kept = ~np.isnan(own)
        yield Row(record.id, places[kept, 0], places[kept, 1], own[kept])
