"""Candidate sets of the inference game: the true value among others that are drawn from the data (OP-58)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Literal

import numpy as np

from sm_ops.attacks.material import Material
from sm_ops.masking.intervals.sentence import sentences

Draw = Literal["sentence", "unique"]


def by_sentence(material: Material, label: str, min_chars: int = 0) -> list[list[str]]:
    """The values of a class in each sentence of the members that mentions it; a mention is where it starts."""
    found: dict[tuple[int, int], list[str]] = {}
    starts: dict[int, np.ndarray] = {}
    for mention in material.mentions:
        if mention.label == label and len(mention.value) >= min_chars:
            if mention.record not in starts:
                content = material.records[mention.record].content
                starts[mention.record] = np.array([start for start, _ in sentences(content)])
            number = int(np.searchsorted(starts[mention.record], mention.start, side="right"))
            found.setdefault((mention.record, number), []).append(mention.value)
    return list(found.values())


def chances(mentioned: Sequence[Collection[str]], how: Draw) -> dict[str, Fraction]:
    """The chance of each string in one draw; `mentioned` are the mentions of each sentence, without any: left out.

    `sentence`: a sentence uniformly, then one of its distinct strings uniformly. `unique`: a distinct string.
    """
    distinct = [set(each) for each in mentioned if each]
    if how == "unique":
        together = set().union(*distinct)
        return {value: Fraction(1, len(together)) for value in sorted(together)}
    result: dict[str, Fraction] = {}
    for values in distinct:
        share = Fraction(1, len(distinct) * len(values))
        for value in values:
            result[value] = result.get(value, Fraction(0)) + share
    return dict(sorted(result.items()))


def ordered(chance: Mapping[str, Fraction], target: str, size: int, seed: int) -> list[str]:
    """The target, then others in the order in which repeated draws without replacement give them.

    The first m are a candidate set of size m, for each m up to `size`; fewer come where there are no more strings.
    Exponential variates over the chances, in ascending order, are distributed as draws with rejection.
    """
    others = sorted(value for value in chance if value != target)
    waits = np.random.default_rng(seed).exponential(size=len(others))
    waits /= np.array([float(chance[value]) for value in others])
    return [target, *(others[place] for place in np.argsort(waits, kind="stable")[: size - 1])]


def inclusion(chance: Mapping[str, Fraction], target: str, size: int) -> dict[str, Fraction]:
    """The exact probability of each string to be in a set of `size`; exponential in it, for few strings."""
    others = {value: p for value, p in chance.items() if value != target}

    @cache
    def included(drawn: frozenset[str]) -> dict[str, Fraction]:
        left = {value: p for value, p in others.items() if value not in drawn}
        if len(drawn) == size - 1 or not left:
            return {value: Fraction(value in drawn) for value in others}
        total, result = sum(left.values()), dict.fromkeys(others, Fraction(0))
        for value, p in left.items():
            for other, q in included(drawn | {value}).items():
                result[other] += p / total * q
        return result

    return {**included(frozenset()), target: Fraction(1)}
