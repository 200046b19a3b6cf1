"""Which candidate fits a gap best under a reference: the score of reconstruction and inference (spec section 15)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.scoring.perplexity import perplexity
from sm_ops.scoring.reference import Reference


@dataclass(frozen=True, slots=True)
class Ranking:
    """`best` candidate, `None` without any; `tied` are all that share the best score, by code point.

    `perplexity` is that of the whole text with each candidate.
    """

    best: str | None
    tied: list[str]
    perplexity: dict[str, float]


def rank(
    reference: Reference,
    prefix: str,
    candidates: Collection[str],
    suffix: str,
    criterion: Literal["ppl", "prob"] = "ppl",
) -> Ranking:
    """Score prefix + candidate + suffix, plainly concatenated, every text token counted (spec 15).

    `ppl` takes the lowest perplexity, which divides by a length that depends on the candidate; `prob` the largest
    probability of the whole text. Candidates are a set; ties go to the smallest string by code point (OP-57). Raises
    `InputError` where the reference gives a text's tokens no score at all.
    """
    distinct = sorted(set(candidates))
    scored = reference.score([Record(str(number), text=prefix + each + suffix) for number, each in enumerate(distinct)])
    perplexities, scores = {}, {}
    for candidate, each in zip(distinct, scored, strict=True):
        found = perplexity(each.logprobs)
        if found is None:
            raise InputError("nothing-scored", "A text with a candidate has no scored token; give it a prefix.")
        perplexities[candidate] = found
        known = each.logprobs[each.logprobs == each.logprobs]
        scores[candidate] = float(known.mean() if criterion == "ppl" else known.sum())
    tied = [candidate for candidate in distinct if scores[candidate] == max(scores.values())]
    return Ranking(tied[0] if tied else None, tied, perplexities)
