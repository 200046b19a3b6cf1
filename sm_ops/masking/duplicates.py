"""Duplicate propagation: a sequence masked in one place is masked wherever it is repeated (section 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.masking.consensus import votes
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.windows import window_starts

SCOPES = ("none", "record", "group", "corpus")


def propagate(mask: np.ndarray, corpus: Corpus, scope: str, n: int) -> np.ndarray:
    """The least mask that holds the eligible part of `mask` and is closed under repeated n-token sequences.

    Where n adjacent positions of one record are all masked, every place of the scope (`record`, `group` or
    `corpus`; `none` = no propagation) with the same n ids gets its eligible positions masked (OP-15, OP-16).
    """
    on = np.where(mask & corpus.eligible, 0.0, -np.inf)
    return spread(on, corpus, scope, n) == 0.0


def spread(values: np.ndarray, corpus: Corpus, scope: str, n: int) -> np.ndarray:
    """The largest threshold at which each position is masked, with propagation completed at every threshold.

    `values` (float64, minus infinity = never) says the same before propagation. Positions are switched on from
    the largest value downwards. A sequence whose n positions in some place are all on is hot: all its places
    are switched on at the value now reached. Every position is switched on once and every sequence turns hot
    once, so after the sort the work is O(N n), however long the chain of repetitions (section 18).
    """
    reached = np.where(corpus.eligible, values, -np.inf)
    if scope == "none":
        return reached
    places = _repeated_places(corpus, scope, n)
    waiting = corpus.eligible.tolist()
    sequence = places.sequence.tolist()
    missing = [n] * len(corpus)  # positions of the window that starts here that are not on yet
    starts, offsets = places.starts.tolist(), places.offsets.tolist()
    hot = [False] * (len(offsets) - 1)
    sources = np.flatnonzero((reached > -np.inf) & (votes(places.sequence >= 0, n) > 0))
    sources = sources[np.argsort(-reached[sources], kind="stable")]
    result = reached.tolist()
    for source in sources.tolist():
        if not waiting[source]:
            continue
        waiting[source] = False
        stack, value = [source], result[source]
        while stack:
            position = stack.pop()
            result[position] = value
            for start in range(max(0, position - n + 1), position + 1):
                name = sequence[start]
                if name < 0:
                    continue
                missing[start] -= 1
                if missing[start] or hot[name]:
                    continue
                hot[name] = True
                for place in starts[offsets[name] : offsets[name + 1]]:
                    for other in range(place, place + n):
                        if waiting[other]:
                            waiting[other] = False
                            stack.append(other)
    return np.array(result, np.float64)


@dataclass(frozen=True, slots=True)
class _Places:
    """Sequences of n ids that occur more than once in their scope, numbered 0..; the others cannot spread.

    Sequence s starts at the positions `starts[offsets[s]:offsets[s + 1]]`; `sequence` holds, per position, the
    sequence that starts there, or -1.
    """

    sequence: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray


def _repeated_places(corpus: Corpus, scope: str, n: int) -> _Places:
    sequence = np.full(len(corpus), -1, np.int64)
    starts = window_starts(corpus.bounds, n)
    name = np.repeat(_scope_of_record(corpus, scope), np.diff(corpus.bounds))[starts]
    _, ids = np.unique(corpus.ids, return_inverse=True)  # small numbers, so that name and id fit one integer
    vocabulary = len(corpus) + 1
    counts = np.empty(0, np.int64)
    for offset in range(n):  # one more id at a time; what is unique already stays so and is dropped
        _, name, counts = np.unique(
            name * vocabulary + ids[starts + offset], return_inverse=True, return_counts=True
        )
        repeated = counts[name] > 1
        starts, name = starts[repeated], name[repeated]
    _, name, counts = np.unique(name, return_inverse=True, return_counts=True)
    sequence[starts] = name
    return _Places(
        sequence=sequence,
        starts=starts[np.argsort(name, kind="stable")],
        offsets=np.concatenate([[0], np.cumsum(counts)]),
    )


def _scope_of_record(corpus: Corpus, scope: str) -> np.ndarray:
    if scope not in SCOPES:
        nearest = did_you_mean(scope, SCOPES)
        raise InputError("unknown-scope", f"There is no propagation scope {scope!r}; {nearest}.")
    if scope == "group":
        return corpus.groups
    return np.arange(len(corpus.groups)) * (scope == "record")
