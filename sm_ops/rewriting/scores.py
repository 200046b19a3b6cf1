"""How suspicious each sentence and each segment of a text is to a selector: the units that are masked or sent.

Kinds of selector: `random` (a keyed hash), `surprise` (token scores of a reference: surprise, or a prompted contrast),
`detector` (its largest span score in the unit), `both` (made of others when a budget is met, see `selection`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sm_ops.core import registry
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.windows import IntervalWindows
from sm_ops.rewriting.units import UNITS

POLICY = "{policy}"
"""What stands in a reference's prompt for the policy of the record."""

Json = dict[str, Any]


def by_chance(records: Sequence[Record], seed: int) -> Json:
    """A uniform number in [0, 1) for each unit, from the seed, the record's id and the unit's place alone."""

    def scores(kind: str) -> list[list[float]]:
        return [[_uniform(seed, record.id, start) for start, _ in own] for record, own in _units(records, kind)]

    return _table(records, scores)


def by_surprise(
    records: Sequence[Record], score: Callable[[Sequence[Record]], list[Scored]], aggregates: dict[str, str]
) -> Json:
    """The aggregate (`mean` or `top`, by kind of unit) of the token scores in each unit."""
    corpus = Corpus.from_scored(score(records), records)

    def scores(kind: str) -> list[list[float]]:
        windows = IntervalWindows.over(corpus, records, registry.load("window", kind).intervals)
        flat = windows.scores(corpus, aggregates[kind])
        return [flat[start:end].tolist() for start, end in pairwise(windows.bounds.tolist())]

    return _table(records, scores)


def by_detector(records: Sequence[Record], detector: Any) -> Json:
    """The largest score of the spans that reach into each unit, and the spans themselves as `native`."""
    found = detector.detect([record.content for record in records])

    def scores(kind: str) -> list[list[float]]:
        return [
            [max((s.score for s in spans if s.start < end and s.end > start), default=np.nan) for start, end in own]
            for spans, (_, own) in zip(found, _units(records, kind), strict=True)
        ]

    return _table(records, scores) | {"native": [[(s.start, s.end) for s in spans] for spans in found]}


def scorer(reference: Settings, load: Callable[[Settings], Any]) -> Callable[[Sequence[Record]], list[Scored]]:
    """A function from records to their token scores.

    A prompt that holds `{policy}` is another one for each policy of the records: the weights are read once.
    """
    prompts = [reference.prompt or "", reference.violating or ""]
    if not any(POLICY in prompt for prompt in prompts):
        return lambda records: load(reference).score(records)

    def score(records: Sequence[Record]) -> list[Scored]:
        from sm_ops.scoring.backends import hf

        tokenizer, weights = hf.located(reference)
        model = weights.load()
        found: dict[int, Scored] = {}
        for policy in dict.fromkeys(record.meta["policy"] for record in records):
            own = [number for number, record in enumerate(records) if record.meta["policy"] == policy]
            heads = [
                hf.fixed_head(tokenizer, reference.examples, reference.prefix_token, prompt.replace(POLICY, policy))
                for prompt in prompts
                if prompt
            ]
            budget = reference.token_budget or hf.TOKEN_BUDGET[weights.device]
            asked = hf.HFReference(model, tokenizer, heads[0], budget, violating=heads[1] if heads[1:] else None)
            found |= dict(zip(own, asked.score([records[number] for number in own]), strict=True))
        return [found[number] for number in range(len(records))]

    return score


def _table(records: Sequence[Record], scores: Callable[[str], list[list[float]]]) -> Json:
    return {
        kind: [
            [(start, end, float(value) if np.isfinite(value) else None) for (start, end), value in zip(
                own, values, strict=True
            )]
            for (_, own), values in zip(_units(records, kind), scores(kind), strict=True)
        ]
        for kind in UNITS
    }  # fmt: skip


def _units(records: Sequence[Record], kind: str) -> list[tuple[Record, list[tuple[int, int]]]]:
    intervals = registry.load("window", kind).intervals
    return [(record, intervals(record)) for record in records]


def _uniform(seed: int, record: str, start: int) -> float:
    digest = hashlib.blake2b(f"{seed}\x1f{record}\x1f{start}".encode(), digest_size=7).digest()
    return int.from_bytes(digest, "little") / 2**56
