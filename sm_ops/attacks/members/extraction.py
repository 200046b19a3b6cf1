"""Observed extraction: which private strings a model writes when it is asked for nothing (alg. 2 and 3, spec 13).

The attacker draws texts from an empty prompt and guesses every distinct mention that a tagger finds in them. Both the
training strings and the guesses depend on the tagger, so success is a lower bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sm_ops.attacks.material import Material, Row
from sm_ops.attacks.measures import ALL, Labels, Measure, by_class, by_occurrences, measure, rate
from sm_ops.attacks.sampling import draw, required
from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.metrics import wilson
from sm_ops.scoring.language_model import LanguageModel

KNOWLEDGE = "Draws texts from the model with an empty prompt; knows which classes of values to look for, nothing else."
HEADLINE = {"measure": "recall", "variant": "paper", "class": ALL}

Key = tuple[str, str]
"""A class and a string of it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to count.

    `subtract`: strings of the baseline are no guesses; `strict`: they leave the training strings too (OP-53);
    `cap`: at most as many guesses as training strings, the most frequent (alg. 2); `per_mention`: recall divides by
    the number of training mentions, repetitions included.
    """

    subtract: bool = True
    strict: bool = False
    cap: bool = True
    per_mention: bool = False


VARIANTS = {
    "paper": Variant(),
    "strict": Variant(strict=True),
    "repo": Variant(cap=False, per_mention=True),
    "unsubtracted": Variant(subtract=False),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rows that were guessed, and the training strings with what recall divides by."""

    guesses: list[Row]
    truth: list[Row]
    per_mention: bool = False

    @property
    def hits(self) -> int:
        """Guesses that are training strings; 0 of those that left the recall."""
        return sum(row["occurrences"] > 0 for row in self.guesses)

    @property
    def size(self) -> int:
        """What recall divides by: distinct training strings, or their mentions."""
        return sum(row["occurrences"] for row in self.truth) if self.per_mention else len(self.truth)

    def only(self, keep: Callable[[Row], bool]) -> Outcome:
        """The part of both that a condition keeps."""
        return Outcome(list(filter(keep, self.guesses)), list(filter(keep, self.truth)), self.per_mention)


def run(
    model: LanguageModel,
    material: Material,
    settings: Any,
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """One row about the samples, then one for each distinct string of the members or of the samples.

    The first row: `samples` and `tokens` drawn, cumulative at each size of the curve. The others: `class`, `length`,
    `fingerprint`, `occurrences` among the members (0: none), `counts` (mentions in the samples, cumulative at each
    size) and `place` in the code-point order of all strings, which decides ties.

    Raises `InputError` without a tagger or a mention, and as `sampling.draw`.
    """
    tagger, mentions = required(material, settings.min_chars)
    known = Counter((mention.label, mention.value) for mention in mentions)
    classes = {label for label, _ in known}
    samples = list(draw(model, tagger, classes, settings, derive(seed, "extraction", "samples"), progress))
    sizes = sorted({-(-len(samples) * point // settings.points) for point in range(1, settings.points + 1)})
    counts = [
        Counter((mention.label, mention.value) for sample in samples[:size] for mention in sample.mentions)
        for size in sizes
    ]
    tokens = [sum(sample.tokens for sample in samples[:size]) for size in sizes]
    return [{"samples": sizes, "tokens": tokens}, *strings(known, counts, material.fingerprint)]


def strings(
    known: Mapping[Key, int], counts: Sequence[Mapping[Key, int]], fingerprint: Callable[[str, str], str]
) -> list[Row]:
    """The rows of all strings, from their mentions among the members and in the samples up to each size."""
    found = {*known, *counts[-1]}
    places = {value: place for place, value in enumerate(sorted({value for _, value in found}))}
    return [
        {
            "class": label,
            "length": len(value),
            "fingerprint": fingerprint(label, value),
            "occurrences": known.get((label, value), 0),
            "counts": [count.get((label, value), 0) for count in counts],
            "place": places[value],
        }
        for label, value in sorted(found)
    ]


def summary(rows: Sequence[Row], baseline: Sequence[Row] | None, settings: Any) -> list[Measure]:
    """Precision and recall of every variant, at the whole budget by class and by occurrences, then over the budget.

    Precision is hits / guesses (n: the distinct strings guessed), recall hits / |C| (n: the distinct training strings,
    in `repo` their mentions). Wilson's intervals take each distinct string as one trial: they say how far the rate
    would move with other strings of the same kind, not with other samples. In `repo` recall's is that of hits / |C|,
    scaled to the mentions. Without a baseline nothing is subtracted. Precision without a guess is undefined, also in
    `repo`, where the official code divides by zero.
    """
    head, found = rows[0], rows[1:]
    known = {row["fingerprint"] for row in (baseline or [])[1:] if row["counts"][-1]}
    last = len(head["tokens"]) - 1
    measures = []
    for point in [last, *range(last)]:
        for name, variant in VARIANTS.items():
            labels = {"variant": name, "tokens": head["tokens"][point]}
            measures += _rates(found, count(found, known, variant, point), labels, with_occurrences=point == last)
    return measures


def count(rows: Sequence[Row], baseline: Collection[str], variant: Variant, point: int = -1) -> Outcome:
    """What is guessed and what there was to find, given the fingerprints that the baseline produced.

    Strings of the baseline are removed first, then each class keeps its |C| most frequent guesses; ties go to the
    smaller string (OP-52). Strings that leave the recall (`strict`) still count for the cap.
    """
    gone = baseline if variant.subtract else ()
    members = [row for row in rows if row["occurrences"]]
    guesses = [row for row in rows if row["counts"][point] and row["fingerprint"] not in gone]
    if variant.cap:
        left = Counter(row["class"] for row in members)
        frequent = sorted(guesses, key=lambda row: (-row["counts"][point], row["place"]))
        guesses = []
        for row in frequent:
            left[row["class"]] -= 1
            if left[row["class"]] >= 0:
                guesses.append(row)
    truth = [row for row in members if not (variant.strict and row["fingerprint"] in gone)]
    return Outcome(guesses, truth, variant.per_mention)


def _rates(rows: Sequence[Row], outcome: Outcome, labels: Labels, with_occurrences: bool) -> list[Measure]:
    """The measures of every class of the members, also of one whose strings all left the recall."""
    members = [row for row in rows if row["occurrences"]]
    measures = []
    for own, group in by_class(members):
        classes = {row["class"] for row in group}
        part = outcome.only(lambda row, classes=classes: row["class"] in classes)
        measures += [_recall(part, own | labels), rate("precision", part.hits, len(part.guesses), **own, **labels)]
    if with_occurrences:
        for own, group in by_occurrences(members):
            bucket = {row["fingerprint"] for row in group}
            part = outcome.only(lambda row, bucket=bucket: row["fingerprint"] in bucket)
            measures.append(_recall(part, own | labels))
    return measures


def _recall(outcome: Outcome, labels: Labels) -> Measure:
    hits, size, distinct = outcome.hits, outcome.size, len(outcome.truth)
    ends = wilson(hits, distinct)
    if ends is not None:
        ends = (ends[0] * distinct / size, ends[1] * distinct / size)
    value = hits / size if size else None
    return {**measure("recall", value, ends, "wilson", size, **labels), "hits": hits}
