"""Duplicate propagation: a sequence masked in one place is masked wherever it is repeated (section 5)."""

from __future__ import annotations

import numpy as np

from sm_ops.core.compiled import compiled
from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.masking.consensus import votes
from sm_ops.masking.corpus import Corpus

SCOPES = ("none", "record", "group", "corpus")
_PRIME = 2**31 - 1
_BASE = 1_664_406_391
_BLOCK = 256


def propagate(mask: np.ndarray, corpus: Corpus, scope: str, n: int) -> np.ndarray:
    """The least mask that holds the eligible part of `mask` and is closed under repeated n-token sequences.

    Where n adjacent positions of one record are all masked, every place of the scope (`record`, `group` or
    `corpus`; `none` = no propagation) with the same n ids gets its eligible positions masked (OP-15, OP-16).
    """
    return propagate_with_sources(mask, corpus, scope, n)[0]


def propagate_with_sources(mask: np.ndarray, corpus: Corpus, scope: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """`propagate`'s mask, and per position the place that it was masked by (int64).

    That is the first position of n masked ones whose sequence is repeated here; -1 where the position is not masked,
    or was in `mask`. The sources lead back to `mask` in the fewest steps.
    """
    reached = mask & corpus.eligible
    return reached, _spread(reached, np.flatnonzero(reached), corpus, scope, n)


def spread(values: np.ndarray, corpus: Corpus, scope: str, n: int) -> np.ndarray:
    """The largest threshold at which each position is masked, with propagation completed at every threshold.

    `values` (float64, minus infinity = never) says the same before propagation. One sort and one sweep downwards:
    O(N n + N log N), however long the chain of repetitions (sections 8 and 18).
    """
    reached = np.where(corpus.eligible, values, -np.inf)
    _spread(reached, np.flatnonzero(reached > -np.inf), corpus, scope, n)
    return reached


def _spread(reached: np.ndarray, seeds: np.ndarray, corpus: Corpus, scope: str, n: int) -> np.ndarray:
    """Complete `reached` in place from `seeds`, and return the sources."""
    if scope not in SCOPES:
        nearest = did_you_mean(scope, SCOPES)
        raise InputError("unknown-scope", f"There is no propagation scope {scope!r}; {nearest}.")
    source = np.full(len(corpus), -1, np.int64)
    if scope == "none" or not len(seeds):
        return source
    first, following = _repeated(corpus, scope, n)
    seeds = seeds[votes(first >= 0, n)[seeds] > 0]
    if reached.dtype != np.bool_:
        seeds = seeds[np.argsort(-reached[seeds])]
    index = first.dtype
    missing = np.full(len(corpus), n, index)
    queue = np.empty(len(corpus), index)
    waiting = corpus.eligible.copy()
    _complete(seeds, first, following, n, missing, waiting, queue, reached, source)
    return source


def _repeated(corpus: Corpus, scope: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The sequences of n ids that occur more than once in their scope; the others cannot spread.

    `first` holds, per position, the first place of the sequence that starts there, or -1. From that place
    `following` leads through all the others, the last one first, to -1.
    """
    of_record = _scope_of_record(corpus, scope)
    order = np.argsort(of_record, kind="stable")
    scopes = np.flatnonzero(np.diff(of_record[order], prepend=-1, append=-1))
    windows = np.concatenate([[0], np.cumsum(np.maximum(np.diff(corpus.bounds) - n + 1, 0)[order])])
    largest = int(np.diff(windows[scopes]).max(initial=1))
    index = np.int32 if len(corpus) < 2**31 else np.int64
    first, following = np.full(len(corpus), -1, index), np.full(len(corpus), -1, index)
    slots, table = np.empty(_BLOCK, np.int64), np.empty(_capacity(largest), index)
    _link(corpus.ids, corpus.bounds, order, scopes, windows, n, slots, table, first, following)
    return first, following


def _scope_of_record(corpus: Corpus, scope: str) -> np.ndarray:
    if scope == "group":
        return corpus.groups
    return np.arange(len(corpus.groups)) * (scope == "record")


def _capacity(windows: int) -> int:
    return 1 << (2 * windows - 1).bit_length()  # at most half full


def _link_by_sorting(
    ids: np.ndarray,
    bounds: np.ndarray,
    order: np.ndarray,
    scopes: np.ndarray,
    windows: np.ndarray,
    n: int,
    slots: np.ndarray,
    table: np.ndarray,
    first: np.ndarray,
    following: np.ndarray,
) -> None:
    """One more id at a time; what is unique already stays so and is dropped."""
    scope = np.empty(len(order), np.int64)
    scope[order] = np.repeat(np.arange(len(scopes) - 1), np.diff(scopes))
    positions = np.arange(len(ids))
    starts = positions[positions + n <= np.repeat(bounds[1:], np.diff(bounds))]
    name = np.repeat(scope, np.diff(bounds))[starts]
    small = np.unique(ids, return_inverse=True)[1]  # so that name and id fit one integer
    for offset in range(n):
        _, name, counts = np.unique(name * len(ids) + small[starts + offset], return_inverse=True, return_counts=True)
        repeated = counts[name] > 1
        starts, name = starts[repeated], name[repeated]
    by_name = np.argsort(name, kind="stable")
    starts, name = starts[by_name], name[by_name]
    heads, ends = np.flatnonzero(np.diff(name, prepend=-1)), np.flatnonzero(np.diff(name, append=-1))
    first[starts] = np.repeat(starts[heads], ends - heads + 1)
    following[starts[1:]] = starts[:-1]
    following[starts[heads + 1]] = -1
    following[starts[heads]] = starts[ends]


@compiled(plain=_link_by_sorting)
def _link(ids, bounds, order, scopes, windows, n, slots, table, first, following):
    """Scope by scope: a hash table of places (open addressing, linear probing) that compares the ids themselves.

    The hash is a polynomial modulo a prime, rolled along the record: O(n) only where a sequence is met again. A block
    is hashed before it is looked up, and its places are read once in advance, so that the processor can wait for many
    of them together; the sum of what is read has no meaning.
    """
    leaving, fetched = 1, 0
    for _ in range(n):
        leaving = leaving * _BASE % _PRIME
    for scope in range(len(scopes) - 1):
        size = 2
        while size < 2 * (windows[scopes[scope + 1]] - windows[scopes[scope]]):
            size *= 2
        for slot in range(size):
            table[slot] = -1
        for number in range(scopes[scope], scopes[scope + 1]):
            begin = bounds[order[number]]
            end = bounds[order[number] + 1] - n + 1
            value = 0
            for position in range(begin, begin + (n - 1 if begin < end else 0)):
                value = (value + ids[position] % _PRIME) * _BASE % _PRIME
            for block in range(begin, end, len(slots)):
                stop = min(block + len(slots), end)
                for start in range(block, stop):
                    value = (value + ids[start + n - 1] % _PRIME) * _BASE % _PRIME
                    slot = value & (size - 1)
                    slots[start - block] = slot
                    value = (value - ids[start] % _PRIME * leaving) % _PRIME
                for slot in slots[: stop - block]:
                    fetched += ids[max(table[slot], 0)]
                for start in range(block, stop):
                    slot = slots[start - block]
                    while True:
                        place = table[slot]
                        if place < 0:
                            table[slot] = start
                            first[start] = start
                            break
                        same = 0
                        while same < n and ids[place + same] == ids[start + same]:
                            same += 1
                        if same == n:
                            first[start] = place
                            following[start] = following[place]
                            following[place] = start
                            break
                        slot = (slot + 1) & (size - 1)
    for start in range(len(first)):
        if first[start] == start and following[start] < 0:
            first[start] = -1
    return fetched


@compiled(writes=("missing", "waiting", "queue", "reached", "source"))
def _complete(seeds, first, following, n, missing, waiting, queue, reached, source):
    """Switch on the seeds, equal values together, and after each value all that they reach, nearest first.

    A sequence turns hot when some place misses none of its n positions; it switches on all its places. Every position
    is queued once and every sequence turns hot once.
    """
    head = tail = seed = 0
    while seed < len(seeds):
        value = reached[seeds[seed]]
        while seed < len(seeds) and (not waiting[seeds[seed]] or reached[seeds[seed]] == value):
            if waiting[seeds[seed]]:
                waiting[seeds[seed]] = False
                queue[tail] = seeds[seed]
                tail += 1
            seed += 1
        while head < tail:
            position = queue[head]
            head += 1
            for start in range(max(0, position - n + 1), position + 1):
                name = first[start]
                if name < 0:
                    continue
                missing[start] -= 1
                if missing[start] != 0 or missing[name] < 0:
                    continue
                missing[name] = -1  # hot
                place = name
                while place >= 0:
                    for other in range(place, place + n):
                        if waiting[other]:
                            waiting[other] = False
                            reached[other] = value
                            source[other] = start
                            queue[tail] = other
                            tail += 1
                    place = following[place]
