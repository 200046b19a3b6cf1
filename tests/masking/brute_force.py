"""The rules word by word, in plain loops and exact fractions: what the fast code is compared with."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from sm_ops.core.tokens import Scored, Tokens


def tokens(length: int, offsets=None, ids=None, supervised=None, special=None) -> Tokens:
    """Tokens of one character each unless told otherwise."""
    spans = np.array([[i, i + 1] for i in range(length)] if offsets is None else offsets, np.int64).reshape(-1, 2)
    return Tokens(
        ids=np.array(np.zeros(length) if ids is None else ids, np.int64),
        starts=spans[:, 0],
        ends=spans[:, 1],
        special=np.array(np.zeros(length) if special is None else special, bool),
        supervised=np.array(np.ones(length) if supervised is None else supervised, bool),
    )


def random_records(rng: np.random.Generator) -> list[Scored]:
    """A few short records: few distinct ids and scores (ties, repetitions), holes of every sort, some empty."""
    records = []
    for number in range(rng.integers(0, 6)):
        length = int(rng.integers(0, 14))
        logprobs = -rng.integers(0, 12, length) / 4.0
        logprobs[rng.random(length) < 0.05] = np.nan
        own = tokens(
            length,
            ids=rng.integers(0, 3, length),
            supervised=rng.random(length) < 0.93,
            special=rng.random(length) < 0.04,
        )
        group = [None, "a", "b"][rng.integers(0, 3)]
        records.append(Scored(id=f"r{number}", group=group, tokens=own, logprobs=logprobs))
    return records


def random_rule(rng: np.random.Generator) -> SimpleNamespace:
    n = int(rng.integers(1, 5))
    return SimpleNamespace(
        windows="fixed",
        n=n,
        k=int(rng.integers(1, n + 1)),
        select="global",
        tau=float(rng.integers(0, 24)) / 8,
        propagate=str(rng.choice(["none", "record", "group", "corpus"])),
    )


def random_offsets(rng: np.random.Generator, length: int) -> np.ndarray:
    """Intervals in text order with gaps, repeats, overlaps and zero lengths."""
    steps = rng.integers(0, 3, length)
    starts = np.cumsum(steps)
    return np.column_stack([starts, starts + rng.integers(0, 4, length)])


def window_scores(record: Scored, n: int) -> list[Fraction | None]:
    usable = record.tokens.eligible & np.isfinite(record.logprobs)
    scores: list[Fraction | None] = []
    for start in range(len(record.tokens)):
        inside = range(start, start + n)
        if inside.stop > len(record.tokens) or not all(usable[j] for j in inside):
            scores.append(None)
        else:
            grid = [round(Fraction(float(-record.logprobs[j])) * 2**20) for j in inside]  # half to even
            scores.append(Fraction(sum(grid), 2**20 * n))
    return scores


def vote(record: Scored, n: int, k: int, tau: float) -> list[bool]:
    scores = window_scores(record, n)
    masked = []
    for position in range(len(record.tokens)):
        holding = [scores[start] for start in range(max(0, position - n + 1), position + 1)]
        votes = sum(score is not None and float(score) >= tau for score in holding)
        masked.append(votes >= k and bool(record.tokens.eligible[position]))
    return masked


def propagate(records: list[Scored], masks: list[list[bool]], scope: str, n: int) -> list[list[bool]]:
    """Round after round over the whole corpus until nothing changes."""
    masks = [(np.array(own, bool) & r.tokens.eligible).tolist() for own, r in zip(masks, records, strict=True)]
    if scope == "none":
        return masks

    def scope_of(index: int):
        group = records[index].group
        if scope == "corpus":
            return "all"
        return ("record", index) if scope == "record" or group is None else ("group", group)

    places = [
        (scope_of(index), tuple(record.tokens.ids[start : start + n].tolist()), index, start)
        for index, record in enumerate(records)
        for start in range(len(record.tokens) - n + 1)
    ]
    while True:
        hot = {(where, gram) for where, gram, r, start in places if all(masks[r][start : start + n])}
        before = [list(own) for own in masks]
        for where, gram, index, start in places:
            if (where, gram) in hot:
                for j in range(start, start + n):
                    masks[index][j] = masks[index][j] or bool(records[index].tokens.eligible[j])
        if masks == before:
            return masks


def mask(records: list[Scored], rule: SimpleNamespace) -> list[list[bool]]:
    return propagate(records, [vote(r, rule.n, rule.k, rule.tau) for r in records], rule.propagate, rule.n)


def overlap(offsets: np.ndarray, selected: np.ndarray) -> list[bool]:
    characters = {c for start, end in selected.tolist() for c in range(start, end)}
    return [bool(characters & set(range(start, end))) for start, end in offsets.tolist()]
