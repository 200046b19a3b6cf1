"""Extractability of single values: how likely a model is to write one when it is asked for nothing (alg. 3 and 4).

Three quantities stand apart (spec section 14): `observed`, the share of samples that hold the value; `occurrences`,
the expected number of occurrences in a sample (eq. 3; it may exceed 1); `lazy`, the mean chance of the value at a place
where the model wrote some value of the same class, which needs no sample that holds the value itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from sm_ops.attacks.material import Material, Mention, Row
from sm_ops.attacks.measures import ALL, Measure, groups, rate, ratio
from sm_ops.attacks.sampling import Sample, draw, required
from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.metrics import ratio_interval
from sm_ops.scoring.language_model import LanguageModel

KNOWLEDGE = (
    "Draws texts from the model with an empty prompt and asks for the probability of a given value at places where the "
    "model wrote a value of its class."
)
HEADLINE = {"measure": "lazy", "variant": "paper", "class": ALL}


def run(
    model: LanguageModel,
    material: Material,
    settings: Any,
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """One row for each of `settings.targets` values of a class, drawn from the seed.

    `samples` and `tokens` drawn; `hits`, the samples with a mention equal to the value (OP-52), and `mentions`, the
    number of these mentions; `slots`, the mentions of the class in all samples together, and `lazy`, the mean chance
    of the value at them (OP-54), with the ends of its bootstrap interval over samples. `lazy` is None without a slot
    and for a value that does not fit the context.

    Raises `InputError` without a tagger or a mention, and as `sampling.draw`.
    """
    tagger, mentions = required(material, settings.min_chars)
    targets = _targets(mentions, settings.targets, seed)
    tokens = 0
    found: dict[str, list[list[int]]] = defaultdict(list)
    slots: dict[str, list[int]] = defaultdict(list)
    chances: dict[str, list[np.ndarray]] = defaultdict(list)
    for sample in draw(model, tagger, targets, settings, derive(seed, "extractability", "samples"), progress):
        tokens += sample.tokens
        for label, values in targets.items():
            own = [mention for mention in sample.mentions if mention.label == label]
            count = Counter(mention.value for mention in own)
            found[label].append([count[value] for value in values])
            slots[label].append(len(own))
            chances[label].append(_summed(model, sample, own, values))
    occurrences = Counter((mention.label, mention.value) for mention in mentions)
    return [
        {
            "class": label,
            "length": len(value),
            "fingerprint": material.fingerprint(label, value),
            "occurrences": occurrences[label, value],
            "samples": len(slots[label]),
            "tokens": tokens,
            "hits": sum(counts[place] > 0 for counts in found[label]),
            "mentions": sum(counts[place] for counts in found[label]),
            **_lazy(np.array([each[place] for each in chances[label]]), np.array(slots[label]), seed),
        }
        for label, values in targets.items()
        for place, value in enumerate(values)
    ]


def summary(rows: Sequence[Row], baseline: Sequence[Row] | None, settings: Any) -> list[Measure]:
    """The means of `observed`, `occurrences` and `lazy` over the values, and the share of values `seen` at all.

    Intervals of means are bootstrapped over the values (n), as another draw of values would move them; Wilson's of
    `seen` takes each value as one trial. With a baseline, the variant `excess` is what is left of a mean when the
    baseline's chance of the same value is taken off: negative where the baseline knows the values better.
    """
    public = {row["fingerprint"]: row for row in baseline or ()}
    measures = []
    for labels, own in groups(rows):
        samples = [row["samples"] for row in own]
        scored = [row for row in own if row["lazy"] is not None]
        measures += [
            ratio("lazy", [row["lazy"] for row in scored], np.ones(len(scored)), **labels, variant="paper"),
            ratio("observed", [row["hits"] for row in own], samples, **labels, variant="paper"),
            ratio("occurrences", [row["mentions"] for row in own], samples, **labels, variant="paper"),
            rate("seen", sum(row["hits"] > 0 for row in own), len(own), **labels, variant="paper"),
        ]
        if baseline is not None:
            excess = [
                row["lazy"] - other["lazy"]
                for row in scored
                if (other := public.get(row["fingerprint"])) and other["lazy"] is not None
            ]
            measures.append(ratio("lazy", excess, np.ones(len(excess)), **labels, variant="excess"))
    return measures


def target_chances(model: LanguageModel, before: str, values: Sequence[str]) -> np.ndarray:
    """The chance of each value behind a text: the product over the tokens that share a character with it (OP-55).

    The text and the value are tokenized together. What does not fit the context is cut off at the text's beginning;
    a value that does not fit it alone has the chance NaN.
    """
    behind: dict[tuple[int, ...], list[tuple[int, list[int]]]] = defaultdict(list)
    chances = np.full(len(values), np.nan)
    for number, value in enumerate(values):
        ids, offsets = model.encode(before + value)
        first = next(place for place, (_, end) in enumerate(offsets) if end > len(before))
        room = model.context - len(model.prefix) - (len(ids) - first)
        if room >= 0:
            behind[tuple(ids[max(0, first - room) : first])].append((number, ids[first:]))
    for lead, own in behind.items():
        scores = model.continuation_logprobs([*model.prefix, *lead], [ids for _, ids in own])
        for (number, _), logprobs in zip(own, scores, strict=True):
            chances[number] = np.exp(logprobs.sum())
    return chances


def _targets(mentions: Sequence[Mention], number: int, seed: int) -> dict[str, list[str]]:
    """Up to `number` distinct values of each class, whatever the order of the records."""
    distinct: dict[str, set[str]] = defaultdict(set)
    for mention in mentions:
        distinct[mention.label].add(mention.value)
    drawn = {}
    for label in sorted(distinct):
        values = sorted(distinct[label])
        generator = np.random.default_rng(derive(seed, "extractability", "targets", label))
        chosen = generator.choice(len(values), min(number, len(values)), replace=False)
        drawn[label] = [values[place] for place in sorted(chosen.tolist())]
    return drawn


def _summed(model: LanguageModel, sample: Sample, slots: Sequence[Mention], values: Sequence[str]) -> np.ndarray:
    total = np.zeros(len(values))
    for slot in slots:
        total += target_chances(model, sample.text[: slot.start], values)
    return total


def _lazy(chances: np.ndarray, slots: np.ndarray, seed: int) -> Row:
    """One ratio of sums over all samples, from the summed chances and the slots of each (OP-54)."""
    total = int(slots.sum())
    value = float(chances.sum() / total) if total else None
    if value is None or np.isnan(value):
        return {"slots": total, "lazy": None, "lazy_low": None, "lazy_high": None}
    low, high = ratio_interval(chances, slots, derive(seed, "extractability", "bootstrap")) or (None, None)
    return {"slots": total, "lazy": value, "lazy_low": low, "lazy_high": high}
