"""Which candidate fits a gap best under a model: the score of reconstruction and inference (spec section 15)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.scoring.language_model import LanguageModel, common_prefix

Criterion = Literal["ppl", "prob"]

TIE = 1e-5
"""Whole texts whose log probabilities differ by this many nats or less are tied: float32 cannot tell them apart.

Equal sums of a few tokens were seen to differ by 7e-6, and not at all between batch layouts."""
_ROUND = 32
"""Candidates that are completed before the hopeless ones among the others are dropped."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """`best` candidate, `None` without any; `tied` are all that share the best score, by code point.

    `perplexity` is that of the whole text with each candidate, `logprob` the logarithm of its probability (nats);
    both lack the candidates that were dropped. `slid`: the text did not fit the context and was trimmed around them.
    """

    best: str | None
    tied: list[str]
    perplexity: dict[str, float]
    logprob: dict[str, float]
    slid: bool


def rank(
    model: LanguageModel,
    prefix: str,
    candidates: Collection[str],
    suffix: str,
    criterion: Criterion = "ppl",
    complete: bool = True,
) -> Ranking:
    """Score prefix + candidate + suffix, plainly concatenated behind `model.prefix`, every text token counted.

    `ppl` takes the lowest perplexity, which divides by a length that depends on the candidate; `prob` the largest
    probability of the whole text. Candidates are a set; ties (within `TIE`) go to the smallest string by code point
    (OP-57). Where a text does not fit the context, prefix and suffix are trimmed to the same characters for all
    candidates, so that each lies within view with as much of both sides as fits. Without `complete` only `best` and
    `tied` are told exactly: a candidate is dropped once what is known of it is worse than the best whole text.

    Raises `InputError` where a candidate alone exceeds the context, and where a text has no token that is scored.
    """
    distinct = sorted(set(candidates))
    if not distinct:
        return Ranking(None, [], {}, {}, slid=False)
    texts, slid = _in_view(model, prefix, distinct, suffix)
    lengths = [len(text) - max(1, len(model.prefix)) for text in texts]
    if any(length < 1 for length in lengths):
        raise InputError("nothing-scored", "A text with a candidate has no scored token; give it a prefix.")
    found: dict[int, float] = {}
    for first in {text[0] for text in texts}:  # without a prefix token the texts begin in different ways
        group = {number: text for number, text in enumerate(texts) if text[0] == first}
        found |= _logprobs(model, group, len(model.prefix), criterion, complete)
    score = {number: total / lengths[number] if criterion == "ppl" else total for number, total in found.items()}
    best = max(score.values())
    tied = [distinct[n] for n in sorted(score) if score[n] >= best - _slack(criterion, lengths[n])]
    return Ranking(
        tied[0],
        tied,
        {distinct[n]: float(np.exp(-total / lengths[n])) for n, total in sorted(found.items())},
        {distinct[n]: total for n, total in sorted(found.items())},
        slid,
    )


def _logprobs(
    model: LanguageModel, texts: dict[int, list[int]], lead: int, criterion: Criterion, complete: bool
) -> dict[int, float]:
    """ln p of the texts behind their first `lead` ids (at least one, and the same in all)."""
    known, trunk = max(1, lead), common_prefix(list(texts.values()))
    shared = 0.0
    if len(trunk) > known:
        shared = float(model.continuation_logprobs(trunk[:known], [trunk[known:]])[0].sum())
    tails = {number: text[len(trunk) :] for number, text in texts.items()}

    def totals(numbers: Sequence[int], stop: int | None = None) -> dict[int, float]:
        values = model.continuation_logprobs(trunk, [tails[number][:stop] for number in numbers])
        return {number: shared + float(own.sum()) for number, own in zip(numbers, values, strict=True)}

    if complete or len(texts) <= _ROUND:
        return totals(list(texts))

    def score(number: int, total: float) -> float:
        return total / max(1, len(texts[number]) - known) if criterion == "ppl" else total

    bounds = {number: score(number, total) for number, total in totals(list(texts), 1).items()}  # the rest is below 0
    waiting = sorted(texts, key=lambda number: -bounds[number])
    found: dict[int, float] = {}
    while waiting:
        found |= totals(waiting[:_ROUND])
        best = max(score(number, total) for number, total in found.items())
        waiting = [n for n in waiting[_ROUND:] if bounds[n] >= best - 2 * _slack(criterion, len(texts[n]))]
    return found


def _slack(criterion: Criterion, tokens: int) -> float:
    """The difference of scores that is none."""
    return TIE / max(1, tokens) if criterion == "ppl" else TIE


def _in_view(model: LanguageModel, prefix: str, candidates: Sequence[str], suffix: str) -> tuple[list[list[int]], bool]:
    """Ids of each candidate's whole text behind the model's prefix, and whether the text had to be trimmed."""
    room = model.context - len(model.prefix)
    before, after = (model.encode(text)[1] for text in (prefix, suffix))
    starts = [0, *(start for start, _ in before[1:]), len(prefix)]
    ends = [0, *(end for _, end in after[:-1]), len(suffix)]

    def whole(left: int, right: int) -> list[list[int]]:
        kept, follows = prefix[starts[len(before) - left] :], suffix[: ends[right]]
        return [[*model.prefix, *model.encode(kept + each + follows)[0]] for each in candidates]

    if len(before) + len(after) < 2 * room:  # joined in one text they may be a little shorter
        texts = whole(len(before), len(after))
        if max(map(len, texts)) <= model.context:
            return texts, False
    longest = max(len(model.encode(each)[0]) for each in candidates)
    if longest > room:
        raise InputError(
            "candidate-too-long",
            f"A candidate has {longest} tokens, but the model's context has room for {room}; leave it out.",
        )
    spare = room - longest
    while True:
        left = min(len(before), max(spare // 2, spare - len(after)))
        texts = whole(left, min(len(after), spare - left))
        over = max(map(len, texts)) - model.context
        if over <= 0:
            return texts, True
        spare = max(0, spare - over)  # tokens at the cuts and the joints may be more than they were
