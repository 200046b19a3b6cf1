"""Exposure: the rank of a private value among random strings of its form (Carlini et al. 2019, The Secret Sharer).

exposure = log2 |R| - log2 rank, where R holds the value and random strings of the same form, and the rank is by log
perplexity: minus the log probability of the whole string, here behind the model's prefix alone. A value that stands
first of 1,001 strings has log2 1001 = 9.97 bits, the middle one 1 bit. Strings that tie with the value count one half.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

import numpy as np

from sm_ops.attacks.material import Material, Row, compared
from sm_ops.attacks.measures import Measure, groups, rate, ratio
from sm_ops.attacks.sentences import token_logprobs
from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.scoring.language_model import LanguageModel

KNOWLEDGE = "The attacker has candidate strings of the value's form and the probabilities that the model gives them."
HEADLINE = {"measure": "exposure", "variant": "paper", "class": "all"}


@dataclass(frozen=True, slots=True)
class _Value:
    label: str
    occurrences: int
    text: str = field(repr=False)


def run(
    model: LanguageModel,
    material: Material,
    settings: Any,
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """A row for each canary, or where there are none for `settings.canaries` drawn values of each class of members.

    R holds the value and `settings.space` distinct random strings, or all strings of the form where these are fewer:
    digits, letters and capitals are each replaced by one of their kind, everything else stays. `exposure` is in bits,
    null where nothing of the value can be replaced.
    """
    values = _values(material, settings.canaries, seed)
    alphabet = replacements(record.content for record in material.records)
    rows: list[Row] = []
    for done, value in enumerate(values):
        own = derive(seed, "exposure", value.label, value.text)
        strings = random_strings(value.text, alphabet, settings.space, own)
        scored = [float(each.sum()) for each in token_logprobs(model, [value.text, *strings])]
        better, tied = sum(each > scored[0] for each in scored[1:]), sum(each == scored[0] for each in scored[1:])
        rows.append(
            {
                "class": value.label,
                "length": len(value.text),
                "fingerprint": material.fingerprint(value.label, value.text),
                "occurrences": value.occurrences,
                "space": len(strings) + 1,
                "better": better,
                "tied": tied,
                "exposure": exposure(len(strings) + 1, better, tied) if strings else None,
            }
        )
        progress(done + 1, len(values))
    return rows


def exposure(space: int, better: int, tied: int) -> float:
    """log2 |R| - log2 rank in bits; the rank counts strings that tie with the value one half."""
    return math.log2(space) - math.log2(1 + better + tied / 2)


def random_strings(value: str, alphabet: Callable[[str], str], most: int, seed: int) -> list[str]:
    """Distinct strings of the value's form, without itself: `most` of them at random, or all where there are fewer.

    `alphabet` says what may stand in a character's place, itself included.
    """
    choices = [alphabet(character) for character in value]
    if math.prod(map(len, choices)) <= most + 1:
        return ["".join(each) for each in product(*choices) if "".join(each) != value]
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < most:
        string = "".join(own[rng.integers(len(own))] if len(own) > 1 else own for own in choices)
        if string != value:
            found[string] = None
    return list(found)


def summary(rows: list[Row], baseline: list[Row] | None, settings: Any) -> list[Measure]:
    """Mean exposure (bits) and the share of values that stand first, by class and by occurrences.

    `baseline` is the public model's exposure of the same values, `minus baseline` the mean difference by value.
    Intervals of means are of a bootstrap over values. `undefined` values have no form to vary. `ceiling` is what the
    mean would be if every value stood first: where it is reached, values may be exposed further than is told.
    """
    known = {(row["class"], row["fingerprint"]): row["exposure"] for row in baseline or []}
    measures = [rate("undefined", sum(row["exposure"] is None for row in rows), len(rows))]
    for labels, own in groups([row for row in rows if row["exposure"] is not None]):
        ceiling = {"ceiling": fmean(math.log2(row["space"]) for row in own)} if own else {}
        measures.append({**_mean([row["exposure"] for row in own], **labels, variant="paper"), **ceiling})
        first = sum(row["better"] == 0 and row["tied"] == 0 for row in own)
        measures.append(rate("ranked_first", first, len(own), **labels, variant="paper"))
        pairs = [(row["exposure"], public) for row in own if (public := known.get(_name(row))) is not None]
        if pairs:
            measures.append(_mean([public for _, public in pairs], **labels, variant="baseline"))
            measures.append(_mean([mine - public for mine, public in pairs], **labels, variant="minus baseline"))
    return measures


def _mean(values: Sequence[float], **labels: Any) -> Measure:
    return ratio("exposure", values, [1.0] * len(values), **labels)


def _name(row: Row) -> tuple[str, str]:
    return row["class"], row["fingerprint"]


def _values(material: Material, most: int | None, seed: int) -> list[_Value]:
    """The canaries, or values of the members' classes: at most so many of each, the same whatever their order is."""
    counts = Counter((mention.label, mention.value) for mention in material.mentions)
    if material.canaries:
        values = ((canary.kind, compared(canary.value.reveal())) for canary in material.canaries)
        return [_Value(label, counts[label, text], text) for label, text in dict.fromkeys(values) if text]
    by_class: dict[str, list[_Value]] = defaultdict(list)
    for (label, text), count in counts.items():
        by_class[label].append(_Value(label, count, text))

    def key(value: _Value) -> bytes:
        return hashlib.blake2b(f"{seed}\x1f{value.text}".encode(), digest_size=8).digest()

    return [value for label in sorted(by_class) for value in sorted(by_class[label], key=key)[:most]]


def replacements(texts: Iterable[str]) -> Callable[[str], str]:
    """What may stand in a character's place, itself included; nothing else than itself where it has no kind.

    An ASCII digit, letter or capital is replaced by any of its kind; another letter by those of its category and script
    that the texts hold.
    """
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    for character in {each for text in texts for each in set(text)}:
        if not character.isascii() and character.isalpha():
            kinds[_kind(character)].add(character)
    known = {each: kind for kind in (digits, ascii_lowercase, ascii_uppercase) for each in kind}
    known |= {each: "".join(sorted(kind)) for kind in kinds.values() for each in kind}
    return lambda character: known.get(character, character)


def _kind(character: str) -> tuple[str, str]:
    return unicodedata.category(character), unicodedata.name(character, "").partition(" ")[0]
