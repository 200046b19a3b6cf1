"""Inference: which of given candidates stood in a gap (algorithm 7, spec 15)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from sm_ops.attacks import candidate_sets, guesses, slots
from sm_ops.attacks.material import Material, Row
from sm_ops.attacks.measures import Measure, by_class, rate, ratio
from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.scoring.candidates import TIE, Ranking, rank
from sm_ops.scoring.language_model import LanguageModel

KNOWLEDGE = (
    "Candidates with the true value among them, the text around a masked mention (or only the text before it), and "
    "next-token probabilities of the model."
)
HEADLINE = {"measure": "accuracy", "variant": "paper", "class": "all"}
"""The first size, knowledge and context of the settings."""

KEYS = ("knowledge", "context", "size")


def run(
    model: LanguageModel,
    material: Material,
    settings: Any,
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """A row for each slot, knowledge, context (characters) and size of the candidate set.

    The sets of a slot are nested, so the largest is scored and the smaller ones are read off. `got` is the size of the
    set, less than the `size` asked for where the members have no more strings of the class; a true value without any
    other (`got` 1) is no guess, right or wrong: `hit` is None. `tied` and the smallest string as in reconstruction.
    """
    drawn = slots.draw(material, settings, seed)
    chances = {label: _chances(material, label, settings) for label in {slot.label for slot in drawn}}
    rows = []
    for done, slot in enumerate(drawn, 1):
        own = derive(seed, "inference", slot.case)
        candidates = candidate_sets.ordered(chances[slot.label], slot.value, max(settings.sizes), own)
        rows += _of_slot(model, material, slot, candidates, settings)
        progress(done, len(drawn))
    return rows


def summary(rows: list[Row], baseline: list[Row] | None, settings: Any) -> list[Measure]:
    """Accuracy and chance level for each knowledge, context and size, in each variant."""
    result = []
    for values in dict.fromkeys(tuple(row[key] for key in KEYS) for row in rows):
        labels = {
            **dict(zip(KEYS, values, strict=True)), "criterion": settings.criterion, "draw": settings.draw,
        }  # fmt: skip
        own = [row for row in rows if tuple(row[key] for key in KEYS) == values]
        tried = [row for row in own if row["hit"] is not None]
        result += guesses.accuracy(tried, baseline, *KEYS, **labels)
        for group, mine in by_class(tried):
            ones = [1] * len(mine)
            result += [
                ratio("chance", [1 / row["got"] for row in mine], ones, **group, **labels),
                ratio("got", [row["got"] for row in mine], ones, **group, **labels),
                rate("tied", sum(row["tied"] > 1 for row in mine), len(mine), **group, **labels),
                rate("slid", sum(row["slid"] for row in mine), len(mine), **group, **labels),
            ]
        for group, mine in by_class(own):
            result.append(rate("without_others", sum(row["hit"] is None for row in mine), len(mine), **group, **labels))
        result += guesses.circumstances(tried, **labels)
    return result


def best_of(ranking: Ranking, candidates: Sequence[str], criterion: str) -> list[str]:
    """Those of the candidates that share the best score as `rank` ties them, by code point; all of them are ranked."""
    score, slack = {}, {}
    for each in candidates:
        total, mean = ranking.logprob[each], -math.log(ranking.perplexity[each])
        score[each] = total if criterion == "prob" else mean
        slack[each] = TIE * total / mean if criterion == "prob" and -math.inf < mean < 0 else TIE
    best = max(score.values())
    return sorted(each for each in candidates if score[each] >= best - slack[each])


def _chances(material: Material, label: str, settings: Any) -> dict[str, Fraction]:
    return candidate_sets.chances(candidate_sets.by_sentence(material, label, settings.min_chars), settings.draw)


def _of_slot(
    model: LanguageModel, material: Material, slot: slots.Slot, candidates: list[str], settings: Any
) -> Iterator[Row]:
    views = {context: slots.view(slot, settings.surroundings, material, context) for context in settings.contexts}
    for knowledge in settings.knowledge:
        for context, seen in views.items():
            suffix = seen.suffix if knowledge == "both" else ""
            ranking = rank(model, seen.prefix, candidates, suffix, settings.criterion, complete=len(settings.sizes) > 1)
            for size in settings.sizes:
                own = candidates[:size]
                tied = ranking.tied if len(own) == len(candidates) else best_of(ranking, own, settings.criterion)
                yield slots.row(
                    slot,
                    seen,
                    material,
                    knowledge=knowledge,
                    context=context,
                    size=size,
                    got=len(own),
                    guess=material.fingerprint(slot.label, tied[0]),
                    hit=tied[0] == slot.value if len(own) > 1 else None,
                    tied=len(tied),
                    slid=ranking.slid,
                )
