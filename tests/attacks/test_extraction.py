"""Observed extraction: counting in every variant by hand, sampled rates against exact ones, nothing said of values."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from cases.small_models import MarkovLanguageModel, PatternTagger, rows

from sm_ops.attacks import exact
from sm_ops.attacks.exact import MarkovModel
from sm_ops.attacks.material import Material
from sm_ops.attacks.members.extraction import run, summary
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.metrics import wilson

pytestmark = pytest.mark.unit

CHAIN = MarkovModel(
    start=rows(s="a 1/2 b 1/2")["s",],
    table=rows(a="x 1/2 y 1/4 b 1/4", b="b 1/2 x 1/4 z 1/4", x="a 1", y="b 1", z="a 1/2 b 1/2"),
)
TAGGER = PatternTagger(PERSON="[xyz]")


def settings(**changes):
    return SimpleNamespace(
        **{"tokens": 60, "length": 6, "top_k": 0, "batch_size": 4, "points": 2, "min_chars": 0} | changes
    )


def member(text, *spans):
    return Record(f"r{text}", text=text, spans=tuple(Span(start, end, label) for start, end, label in spans))


MATERIAL = Material(
    [member("axaxb", (1, 2, "PERSON"), (3, 4, "PERSON")), member("ab w", (3, 4, "PERSON"))], tagger=TAGGER
)


def string(name, occurrences, *counts, label="PERSON", place=None):
    return {
        "class": label,
        "length": len(name),
        "fingerprint": name,
        "occurrences": occurrences,
        "counts": list(counts),
        "place": ord(name[0]) if place is None else place,
    }


def value(measures, name, variant="paper", **labels):
    wanted = {"measure": name, "variant": variant, "class": "all", **labels}
    found = [each for each in measures if all(each.get(key) == value for key, value in wanted.items())]
    return found[0]


# Counting, by hand: training strings ann (3 mentions), bob, cid; the model wrote ann, bob, eve twice and fay once.
HEAD = {"samples": [5, 10], "tokens": [50, 100]}
FOUND = [
    HEAD,
    string("ann", 3, 0, 1),
    string("bob", 1, 1, 1),
    string("cid", 1, 0, 0),
    string("eve", 0, 2, 2),
    string("fay", 0, 1, 1),
]
PUBLIC = [HEAD, string("bob", 1, 4, 4), string("cid", 1, 0, 0), string("gus", 0, 1, 1)]


@pytest.mark.parametrize(
    ("variant", "precision", "recall"),
    [
        # cap 3 of ann, bob, eve, fay: eve twice, then the smaller of those once
        ("unsubtracted", (2, 3), (2, 3)),
        # without bob, three are left
        ("paper", (1, 3), (1, 3)),
        ("strict", (1, 3), (1, 2)),
        # the official code: nothing is cut off, and recall divides by five mentions
        ("repo", (1, 3), (1, 5)),
    ],
)
def test_variants_side_by_side(variant, precision, recall):
    measures = summary(FOUND, PUBLIC, settings())
    for name, (hits, n) in (("precision", precision), ("recall", recall)):
        found = value(measures, name, variant)
        assert (found["hits"], found["n"]) == (hits, n)
        assert found["value"] == pytest.approx(hits / n)
        assert found["low"] <= found["value"] <= found["high"]


def test_the_official_code_has_no_cap():
    many = [HEAD, string("ann", 1, 1, 1), *(string(f"{letter}{n}", 0, 2, 2) for letter in "ef" for n in range(9))]
    measures = summary(many, None, settings())
    assert value(measures, "precision", "repo")["n"] == 19
    assert value(measures, "recall", "repo")["hits"] == 1
    assert value(measures, "precision", "paper")["n"] == 1
    assert value(measures, "recall", "paper")["hits"] == 0


def test_no_guess_is_undefined_where_the_official_code_divides_by_zero():
    only_public = [HEAD, string("bob", 1, 4, 4), string("cid", 2, 0, 0)]
    measures = summary(only_public, PUBLIC, settings())
    for variant in ("paper", "strict", "repo"):
        found = value(measures, "precision", variant)
        assert (found["value"], found["low"], found["high"], found["n"]) == (None, None, None, 0)
        assert value(measures, "recall", variant)["value"] == 0
    public_knows_all = [HEAD, string("bob", 1, 1, 1)]
    assert value(summary(public_knows_all, PUBLIC, settings()), "recall", "strict")["value"] is None


def test_without_a_baseline_nothing_is_subtracted():
    measures = summary(FOUND, None, settings())
    shared = [
        [value(measures, name, variant)["value"] for name in ("precision", "recall")] for variant in ("paper", "strict")
    ]
    assert shared == [[pytest.approx(2 / 3)] * 2] * 2


def test_a_baseline_string_that_was_never_written_is_not_subtracted():
    measures = summary(FOUND, [HEAD, string("ann", 3, 0, 0)], settings())
    assert value(measures, "recall")["hits"] == 2


def test_the_cap_and_the_counts_are_of_each_class():
    two = [
        HEAD,
        string("ann", 1, 1, 1),
        string("eve", 0, 9, 9),
        string("oslo", 2, 0, 1, label="LOC"),
        string("rome", 0, 0, 0, label="LOC"),
    ]
    measures = summary(two, None, settings())
    for labels, hits, n in ((("all"), 1, 2), ("PERSON", 0, 1), ("LOC", 1, 1)):
        found = value(measures, "recall", **{"class": labels})
        assert (found["hits"], found["n"]) == (hits, n)
    buckets = {each["occurrences"]: (each["hits"], each["n"]) for each in measures
               if each.get("occurrences") and each["variant"] == "paper"}  # fmt: skip
    assert buckets == {"1": (0, 1), "2": (1, 1)}


def test_the_curve_counts_what_was_found_up_to_each_size():
    measures = summary(FOUND, None, settings())
    assert [value(measures, "recall", tokens=size)["hits"] for size in (50, 100)] == [1, 2]
    assert not any("occurrences" in each for each in measures if each["tokens"] == 50)


def test_intervals_of_the_official_recall_are_those_of_distinct_strings():
    found = value(summary(FOUND, None, settings()), "recall", "repo")
    low, high = wilson(2, 3)
    assert (found["low"], found["high"]) == (pytest.approx(low * 3 / 5), pytest.approx(high * 3 / 5))


# Sampling


def test_strings_are_found_as_often_as_the_exact_chance_says():
    chances = {name: float(exact.chance_of_occurrence(CHAIN, name, 6)) for name in "xyz"}
    found = dict.fromkeys(chances, 0)
    material = Material([member("axyzb", (1, 2, "PERSON"), (2, 3, "PERSON"), (3, 4, "PERSON"))], tagger=TAGGER)
    trials = 300
    for seed in range(trials):
        head, *own = run(MarkovLanguageModel(CHAIN), material, settings(tokens=12, batch_size=8), seed)
        assert head == {"samples": [1, 2], "tokens": [6, 12]}
        for row, name in zip(own, "xyz", strict=True):
            found[name] += row["counts"][-1] > 0
    for name, chance in chances.items():
        within_two = 1 - (1 - chance) ** 2
        assert abs(found[name] - trials * within_two) <= 5 * np.sqrt(trials * within_two * (1 - within_two))


def test_top_k_keeps_what_is_tied_and_nothing_else():
    _, *own = run(MarkovLanguageModel(CHAIN), MATERIAL, settings(tokens=600, top_k=1), 0)
    # from a only x; from b only b; from x only a
    assert {row["place"]: row["counts"][-1] > 0 for row in own} == {0: False, 1: True}


def test_rows_hold_training_strings_that_were_never_drawn_and_foreign_ones_that_were():
    _, *own = run(MarkovLanguageModel(CHAIN), MATERIAL, settings(tokens=600), 3)
    assert [(row["occurrences"], row["counts"][-1] > 0) for row in own] == [(1, False), (2, True), (0, True), (0, True)]
    assert [row["place"] for row in own] == [0, 1, 2, 3]
    assert all(row["counts"] == sorted(row["counts"]) for row in own)


def test_a_model_that_ends_its_texts_draws_fewer_tokens():
    ending = MarkovModel(start=rows(s="x 1/2 . 1/2")["s",], table=rows(x=". 1/2 x 1/2"))
    material = Material([member("x", (0, 1, "PERSON"))], tagger=TAGGER)
    head, row = run(MarkovLanguageModel(ending, end="."), material, settings(tokens=600), 0)
    assert head["samples"] == [50, 100]
    assert head["tokens"][1] < 200
    assert row["counts"][1] == head["tokens"][1]


def test_rows_do_not_depend_on_batches_or_on_the_budget_beyond_them():
    model = MarkovLanguageModel(CHAIN)
    assert run(model, MATERIAL, settings(batch_size=3), 1) == run(model, MATERIAL, settings(batch_size=100), 1)
    head, *own = run(model, MATERIAL, settings(), 1)
    longer_head, *longer = run(model, MATERIAL, settings(tokens=120, points=4), 1)
    assert longer_head["tokens"][:2] == head["tokens"]
    by_name = {row["fingerprint"]: row["counts"] for row in longer}
    assert all(by_name[row["fingerprint"]][:2] == row["counts"] for row in own)


def test_short_mentions_are_left_out_on_both_sides():
    tagger = PatternTagger(PERSON="[xyz][ab]?")
    records = [member("axab", (1, 3, "PERSON"), (1, 2, "PERSON"))]
    _, *own = run(MarkovLanguageModel(CHAIN), Material(records, tagger=tagger), settings(min_chars=2), 0)
    assert {row["length"] for row in own} == {2}


def test_a_class_that_the_members_never_mention_is_not_attacked():
    tagger = PatternTagger(PERSON="[xy]", LOC="z")
    _, *own = run(MarkovLanguageModel(CHAIN), Material(MATERIAL.records, tagger=tagger), settings(tokens=600), 0)
    assert {row["class"] for row in own} == {"PERSON"}


def test_nothing_is_printed_and_nothing_of_the_texts_stands_in_the_rows(capsys):
    names = PatternTagger(PERSON="x[ab]+")
    records = [member("axab and more", (1, 4, "PERSON"))]
    found = run(MarkovLanguageModel(CHAIN), Material(records, tagger=names), settings(), 0)
    summary(found, found, settings())
    assert capsys.readouterr() == ("", "")
    words = {word for row in found for word in row.values() if isinstance(word, str)}
    assert all(word == "PERSON" or len(word) == 12 for word in words)
    assert "xab" not in json.dumps(found)


@pytest.mark.parametrize(
    ("material", "changes", "code"),
    [
        (Material(MATERIAL.records), {}, "no-tagger"),
        (Material([member("ab")], tagger=TAGGER), {}, "no-mentions"),
        (MATERIAL, {"min_chars": 2}, "no-mentions"),
        (MATERIAL, {"length": 64}, "sample-too-long"),
    ],
)
def test_what_is_missing_is_said(material, changes, code):
    with pytest.raises(InputError) as error:
        run(MarkovLanguageModel(CHAIN), material, settings(**changes), 0)
    assert error.value.code == code


def test_a_model_without_a_first_token_cannot_be_asked_for_nothing():
    model = MarkovLanguageModel(CHAIN)
    model.prefix = ()
    with pytest.raises(InputError, match="neither BOS nor EOS"):
        run(model, MATERIAL, settings(), 0)
