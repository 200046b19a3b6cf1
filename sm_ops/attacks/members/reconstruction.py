"""Reconstruction: which value stood in a gap, from the words around it alone (algorithm 6, equation 4, spec 15).

Candidates are the mentions that a tagger finds in texts sampled from the attacked model. The one with which the whole
text is likeliest under the model is the guess.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sm_ops.attacks import guesses, slots
from sm_ops.attacks.guesses import variants
from sm_ops.attacks.material import Material, Row, compared
from sm_ops.attacks.measures import Measure, by_class, groups, rate, ratio
from sm_ops.core.errors import InputError
from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.scoring.candidates import rank
from sm_ops.scoring.language_model import LanguageModel

KNOWLEDGE = "The text around a masked mention, other mentions masked too, and next-token probabilities of the model."
HEADLINE = {"measure": "accuracy", "variant": "paper", "class": "all"}

PARTS = 2
"""With the suffix known only the gap is to be written: so many times the texts, of this part of the length."""


def run(
    model: LanguageModel,
    material: Material,
    settings: Any,
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """One row a slot: whether the guess is right, and whether the true value was among the candidates.

    `draw: suffix` samples as one does who knows where the gap ends: more texts, shorter ones, of as many tokens in all.
    `candidates: repo` takes mentions of persons alone, and none that the query holds. A slot without a candidate has no
    guess. `tied` counts the candidates that share the best score; the smallest string is the guess (OP-57).
    """
    if material.tagger is None:
        raise InputError("no-tagger", "Reconstruction finds candidates in samples by a tagger; name one.")
    drawn = slots.draw(material, settings, seed)
    if settings.candidates == "repo":
        drawn = [slot for slot in drawn if slot.label == "PERSON"]
    rows = []
    for done, slot in enumerate(drawn, 1):
        seen = slots.view(slot, settings.surroundings, material, settings.context)
        found = _candidates(model, material, slot, seen, settings, seed)
        ranking = rank(model, seen.prefix, found, seen.suffix, settings.criterion, complete=False)
        rows.append(
            slots.row(
                slot,
                seen,
                material,
                guess=None if ranking.best is None else material.fingerprint(slot.label, ranking.best),
                hit=ranking.best == slot.value,
                among=slot.value in found,
                candidates=len(found),
                tied=len(ranking.tied),
                slid=ranking.slid,
            )
        )
        progress(done, len(drawn))
    return rows


def summary(rows: list[Row], baseline: list[Row] | None, settings: Any) -> list[Measure]:
    """Accuracy, how often the true value is `among` the candidates, and accuracy where it is, in each variant."""
    labels = {"criterion": settings.criterion, "draw": settings.draw}
    result = guesses.accuracy(rows, baseline, **labels)
    for variant, kept in variants(rows, baseline):
        for group, own in groups(kept):
            there = [row for row in own if row["among"]]
            named = {**group, "variant": variant, **labels}
            result.append(rate("among", len(there), len(own), **named))
            result.append(rate("accuracy_among", sum(row["hit"] for row in there), len(there), **named))
    for group, own in by_class(rows):
        for name, count in (
            ("no_candidate", sum(row["candidates"] == 0 for row in own)),
            ("tied", sum(row["tied"] > 1 for row in own)),
            ("slid", sum(row["slid"] for row in own)),
        ):
            result.append(rate(name, count, len(own), **group, **labels))
        result.append(ratio("candidates", [row["candidates"] for row in own], [1] * len(own), **group, **labels))
    return result + guesses.circumstances(rows, **labels)


def _candidates(
    model: LanguageModel, material: Material, slot: slots.Slot, seen: slots.View, settings: Any, seed: int
) -> set[str]:
    """The distinct values of the slot's class that the tagger finds in texts sampled behind the prefix.

    Measured on a GPT-2 of 0.7M weights that had learnt 150 records (100 slots, standard error 0.04): at equal tokens
    `suffix` finds the true value in 0.25 and 0.35 of the slots with 16 and 64 texts, `prefix` in 0.21 and 0.32. The
    suffix shown ahead of the prefix finds it less often, and texts that start again from the beginnings of the
    candidates that fit it best no more often.
    """
    assert material.tagger is not None
    count, length = settings.samples, settings.length
    if settings.draw == "suffix":
        count, length = PARTS * count, -(-length // PARTS)
    chances = np.random.default_rng(derive(seed, "reconstruction", slot.case)).random((count, length))
    behind = slots.prompt(model, seen.prefix, length)
    texts = [
        model.decode(ids)
        for start in range(0, count if behind else 0, settings.batch_size)
        for ids in model.sample(behind, chances[start : start + settings.batch_size], top_k=settings.top_k)
    ]
    found = {
        value
        for text, detections in zip(texts, material.tagger.detect(texts), strict=True)
        for start, end, label, _ in detections
        if label == slot.label and (value := compared(text[start:end])) and len(value) >= settings.min_chars
    }
    if settings.candidates == "repo":
        return {value for value in found if value not in seen.prefix and value not in seen.suffix}
    return found
