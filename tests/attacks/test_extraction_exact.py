"""Exact quantities of small models: against brute force over all texts, and what keeps them apart."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from cases.small_models import rows

from sm_ops.attacks.exact import (
    MarkovModel,
    among_top,
    chance_of_occurrence,
    expected_occurrences,
    lazy,
    lazy_of_samples,
    observed,
    success,
)
from sm_ops.core.errors import InputError

pytestmark = pytest.mark.unit


def random_row(rng, tokens):
    weights = [rng.randint(0, 4) for _ in tokens]
    weights[rng.randrange(len(tokens))] += 1
    return {token: Fraction(weight, sum(weights)) for token, weight in zip(tokens, weights, strict=True)}


def random_model(rng, order, tokens="abc"):
    contexts = [context for n in range(1, order + 1) for context in itertools.product(tokens, repeat=n)]
    return MarkovModel(random_row(rng, tokens), {context: random_row(rng, tokens) for context in contexts}, order)


def texts(model, length, top_k=0):
    """Every text with its chance, without the code under test."""
    for text in itertools.product("abc", repeat=length):
        chance = Fraction(1)
        for place, token in enumerate(text):
            context = text[max(0, place - model.order) : place]
            row = model.table[context] if context else model.start
            if top_k:
                least = sorted(row.values(), reverse=True)[top_k - 1]
                row = {each: share if share >= least else Fraction(0) for each, share in row.items()}
            chance *= row[token] / sum(row.values())
        if chance:
            yield text, chance


def places(text, target):
    return [place for place in range(len(text)) if text[place : place + len(target)] == target]


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_all_texts_enumerated(seed):
    rng = random.Random(seed)
    order, length, top_k = rng.choice([1, 2, 3]), rng.randint(1, 5), rng.choice([0, 1, 2])
    model = random_model(rng, order)
    target = tuple(rng.choices("ab", k=rng.randint(1, 3)))
    every = list(texts(model, length))
    assert sum(chance for _, chance in every) == 1
    assert expected_occurrences(model, target, length) == sum(
        chance * len(places(text, target)) for text, chance in every
    )
    assert chance_of_occurrence(model, target, length) == sum(chance for text, chance in every if places(text, target))
    slots = [
        (chance, text[:place])
        for text, chance in texts(model, length, top_k)
        for place, token in enumerate(text)
        if token in "ac"
    ]
    total = sum(chance for chance, _ in slots)
    expected = None
    if total:
        expected = sum(chance * plain_chance(model, before, target) for chance, before in slots) / total
    assert lazy(model, target, "ac", length, top_k) == expected


def plain_chance(model, before, target):
    chance = Fraction(1)
    for token in target:
        context = before[max(0, len(before) - model.order) :]
        chance *= (model.table[context] if context else model.start)[token]
        before = (*before, token)
    return chance


def test_the_expected_number_is_no_probability():
    model = MarkovModel(start=rows(s="a 1")["s",], table=rows(a="a 1"))
    assert expected_occurrences(model, ("a", "a"), 5) == 4
    assert chance_of_occurrence(model, ("a", "a"), 5) == 1
    assert lazy(model, ("a", "a"), "a", 5) == 1


def test_long_texts_need_no_enumeration():
    model = random_model(random.Random(0), 2)
    expected, chance = (measured(model, "aba", 60) for measured in (expected_occurrences, chance_of_occurrence))
    assert 0 < chance < expected


@pytest.mark.parametrize(("k", "kept"), [(0, "abc"), (1, "ab"), (2, "ab"), (3, "abc"), (9, "abc")])
def test_what_ties_with_the_last_stays(k, kept):
    row = {"a": Fraction(2, 5), "b": Fraction(2, 5), "c": Fraction(1, 5), "d": Fraction(0)}
    assert among_top(row, k) == {token: row[token] / sum(row[own] for own in kept) for token in kept}


def test_nothing_to_divide_by_is_undefined():
    model = MarkovModel(start=rows(s="a 1")["s",], table=rows(a="a 1"))
    assert lazy(model, "a", "x", 3) is lazy_of_samples(model, "a", "x", ["aaa"]) is None
    assert observed([], "a") is success([]) is success([((), ("a",))]) is None


@pytest.mark.parametrize(
    ("start", "table", "order", "code"),
    [
        ("a 1/2", {}, 1, "bad-row"),
        ("a 1", {"a": "a 3/2 b -1/2"}, 1, "bad-row"),
        ("a 1", {"a": "a 1"}, 0, "bad-order"),
    ],
)
def test_a_model_that_is_none_is_refused(start, table, order, code):
    with pytest.raises(InputError) as error:
        MarkovModel(rows(s=start)["s",], rows(**table), order)
    assert error.value.code == code


def test_a_missing_row_and_an_empty_target_are_refused():
    model = MarkovModel(rows(s="a 1/2 b 1/2")["s",], rows(a="a 1"))
    with pytest.raises(InputError, match="no row"):
        chance_of_occurrence(model, "aa", 3)
    with pytest.raises(InputError, match="no token"):
        chance_of_occurrence(model, "", 3)
