"""The rules word by word, in plain loops and exact fractions: what the fast code is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace

import numpy as np

from sm_ops.core.records import Record
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


CHARACTERS = [*'ab .\n!?;,"”。)', "\r\n", "  "]


def random_records(rng: np.random.Generator) -> list[Scored]:
    """A few short records: few distinct ids and scores (ties, repetitions), holes of every sort, some empty."""
    return [scored for scored, _ in random_pairs(rng)]


def random_pairs(rng: np.random.Generator) -> list[tuple[Scored, Record]]:
    """The same with their texts, which are full of ends of lines and sentences; some are contrasts."""
    pairs = []
    contrast = rng.random() < 0.3
    for number in range(rng.integers(0, 6)):
        length = int(rng.integers(0, 14))
        logprobs = -rng.integers(0, 12, length) / 4.0
        logprobs[rng.random(length) < 0.05] = np.nan
        offsets = random_offsets(rng, length)
        size = int(offsets.max(initial=0))
        text = "".join(rng.choice(CHARACTERS, size))[:size]
        own = tokens(
            length,
            offsets,
            ids=rng.integers(0, 3, length),
            supervised=rng.random(length) < 0.93,
            special=rng.random(length) < 0.04,
        )
        group = [None, "a", "b"][rng.integers(0, 3)]
        violating = -rng.integers(0, 12, length) / 4.0 if contrast else None
        fields = [sorted(pair) for pair in rng.integers(0, size + 1, (3, 2)).tolist()]
        meta = {"fields": fields}
        scored = Scored(id=f"r{number}", group=group, tokens=own, logprobs=logprobs, violating=violating)
        pairs.append((scored, Record(f"r{number}", text=text, group=group, meta=meta)))
    return pairs


def random_rule(rng: np.random.Generator) -> SimpleNamespace:
    """Any rule there is."""
    windows = str(rng.choice(["fixed", "fixed", "fixed", "line", "sentence", "segment", "field", "response"]))
    n = int(rng.integers(1, 6))
    return SimpleNamespace(
        windows=windows,
        n=n,
        agg=str(rng.choice(["mean", "top"])),
        k=int(rng.integers(1, (n if windows == "fixed" else 2) + 1)),
        select=str(rng.choice(["global", "local"])),
        tau=float(rng.integers(0, 24)) / 8,
        r_max=float(rng.choice([0.0, 10.0, 25.0, 50.0, 50.5, 100.0, 101.0])),
        radius=int(rng.choice([1, 2, 32])),
        propagate=str(rng.choice(["none", "record", "group", "corpus"])),
        prop_n=None if windows == "fixed" and rng.random() < 0.8 else int(rng.integers(1, 4)),
    )


def random_offsets(rng: np.random.Generator, length: int) -> np.ndarray:
    """Intervals in text order with gaps, repeats, overlaps and zero lengths."""
    steps = rng.integers(0, 3, length)
    starts = np.cumsum(steps)
    return np.column_stack([starts, starts + rng.integers(0, 4, length)])


def intervals(record: Record, kind: str) -> list[tuple[int, int]]:
    """OP-11, OP-12 and OP-35, one character at a time."""
    text = record.text or ""
    if kind == "field":
        return [(start, end) for start, end in record.meta["fields"]]
    if kind == "response":
        return [(0, len(text))]
    pieces, start, i = [], 0, 0
    while i < len(text):
        if text[i] == "\n" or (kind == "segment" and text[i] in ".!?,;:…。！？、，；："):
            pieces.append((start, i))
            start = i = i + 1
        elif kind == "sentence" and text[i] in ".!?。！？…":
            run = i
            while i < len(text) and text[i] in ".!?。！？…":
                i += 1
            marks = text[run:i]
            while i < len(text) and text[i] in "\"'”’)]}»」』":
                i += 1
            if i == len(text) or text[i].isspace() or set(marks) & set("。！？"):
                pieces.append((start, i))
                start = i
        else:
            i += 1
    pieces.append((start, len(text)))
    if kind == "line":
        ended = [(s, e - 1 if e < len(text) and e > s and text[e - 1] == "\r" else e) for s, e in pieces]
        return [(s, e) for s, e in ended if text[s:e].strip()]
    found = []
    for s, e in pieces:
        while s < e and text[s].isspace():
            s += 1
        while s < e and text[e - 1].isspace():
            e -= 1
        if s < e:
            found.append((s, e))
    return found


def windows(scored: Scored, rule: SimpleNamespace, record: Record | None = None) -> list[list[int]]:
    """The members of each window in their numbering; an empty list is a window that is not there."""
    own = scored.tokens
    if rule.windows == "fixed":
        runs = [list(range(start, start + rule.n)) for start in range(len(own))]
        return [run if run[-1] < len(own) and all(own.eligible[j] for j in run) else [] for run in runs]
    return [
        [j for j in range(len(own)) if own.eligible[j] and max(own.starts[j], start) < min(own.ends[j], end)]
        for start, end in intervals(record, rule.windows)
    ]


def scores_of(scored: Scored, rule: SimpleNamespace, record: Record | None = None) -> list[Fraction | None]:
    """Exact scores of the windows; `None` = invalid."""
    result: list[Fraction | None] = []
    for members in windows(scored, rule, record):
        values = [_grid(scored, j) for j in members]
        if not values or None in values:
            result.append(None)
            continue
        if rule.agg == "top":
            values = sorted(values, reverse=True)[:3]
        result.append(Fraction(sum(values), 2**20 * len(values)))
    return result


def window_scores(record: Scored, n: int) -> list[Fraction | None]:
    """Fixed windows, mean surprise."""
    return scores_of(record, SimpleNamespace(windows="fixed", n=n, agg="mean"))


def _grid(scored: Scored, j: int) -> int | None:
    terms = [scored.logprobs[j]] if scored.violating is None else [scored.logprobs[j], scored.violating[j]]
    if not np.isfinite(terms).all():
        return None
    grid = [round(Fraction(float(term)) * 2**20) for term in terms]  # half to even
    return -grid[0] + sum(grid[1:])


def ranks(scores: list[Fraction | None], radius: int) -> list[float | None]:
    """Percent of the valid neighbours that are at least as surprising."""
    result: list[float | None] = []
    for i, score in enumerate(scores):
        near = range(max(0, i - radius), min(len(scores), i + radius + 1))
        neighbours = [scores[j] for j in near if j != i and scores[j] is not None]
        if score is None or not neighbours:
            result.append(None)
        else:
            result.append(100 * sum(-float(score) >= -float(other) for other in neighbours) / len(neighbours))
    return result


def selected(scored: Scored, rule: SimpleNamespace, record: Record | None = None) -> list[bool]:
    scores = scores_of(scored, rule, record)
    if rule.select == "global":
        return [score is not None and float(score) >= rule.tau for score in scores]
    return [rank is not None and rank < rule.r_max for rank in ranks(scores, rule.radius)]


def vote(scored: Scored, rule: SimpleNamespace, record: Record | None = None) -> list[bool]:
    votes = np.zeros(len(scored.tokens), int)
    for members, chosen in zip(windows(scored, rule, record), selected(scored, rule, record), strict=True):
        votes[members] += chosen
    return [bool(count >= rule.k and scored.tokens.eligible[j]) for j, count in enumerate(votes)]


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


def mask(
    scored: list[Scored], rule: SimpleNamespace, records: Sequence[Record | None] | None = None
) -> list[list[bool]]:
    """The complete procedure."""
    votes = [vote(own, rule, record) for own, record in zip(scored, records or [None] * len(scored), strict=True)]
    return propagate(scored, votes, rule.propagate, rule.n if rule.prop_n is None else rule.prop_n)


def overlap(offsets: np.ndarray, selected: np.ndarray) -> list[bool]:
    characters = {c for start, end in selected.tolist() for c in range(start, end)}
    return [bool(characters & set(range(start, end))) for start, end in offsets.tolist()]
