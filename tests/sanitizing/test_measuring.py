"""The whole document of measures: thresholds by validation, both sides, verdicts in words, and the choice."""

from __future__ import annotations

import json

import numpy as np
import pytest
from labelled import record, side

from sm_ops.core.errors import InputError
from sm_ops.core.tokens import Tokens
from sm_ops.sanitizing.levels import Filter
from sm_ops.sanitizing.measuring import measure
from sm_ops.sanitizing.plan import Plan
from sm_ops.sanitizing.sides import Side

pytestmark = pytest.mark.unit
SURPRISE, REGEX = Filter("surprise", "surprise"), Filter("regex", "detector", 0.5)


def corpus(keys, others, length: int = 100, regex=(), **meta) -> Side:
    """One document: ten-character keys at `keys` (start -> level), other intervals (start, end, level)."""
    spans = [(start, start + 10, "key") for start in keys]
    levels = [(start, start + 10, level) for start, level in keys.items()] + list(others)
    return side([record(0, "x" * length, spans, **meta)], surprise=[levels], regex=[list(regex)])


GOOD = corpus({0: 5.0, 20: 3.0}, [(50, 58, 4.0), (60, 80, 1.0)], regex=[(0, 10, 1.0), (90, 94, 0.2)])


def test_a_threshold_is_chosen_on_validation_and_applied_to_both_sides():
    other = corpus({0: 4.0, 20: 2.0}, [(50, 60, 3.5)])
    found = measure(GOOD, other, [SURPRISE, REGEX], Plan())
    surprise = found["filters"]["surprise"]
    assert (surprise["tau"], surprise["chosen"]) == (3.0, "max_f1")  # 20 of 28 are keys; at 5.0 10 of 10, F1 0.67
    assert surprise["validation"]["counts"] == {"tp": 20, "fp": 8, "fn": 0, "tn": 72}
    assert surprise["application"]["counts"] == {"tp": 10, "fp": 10, "fn": 10, "tn": 70}
    assert surprise["validation"]["f1"]["value"] == pytest.approx(40 / 48)
    assert surprise["validation"]["preservation"]["value"] == 0.9
    assert found["filters"]["regex"]["tau"] == 0.5
    assert found["filters"]["regex"]["validation"]["counts"] == {"tp": 10, "fp": 0, "fn": 10, "tn": 80}
    areas = [surprise[side]["auroc"]["value"] for side in ("validation", "application")]
    assert areas == pytest.approx([(72 + 80) / 160, (80 + 70) / 160])
    assert surprise["gap"] == pytest.approx(areas[0] - areas[1])
    assert surprise["validation"]["attainable"]["tau"] == 3.0
    assert surprise["validation"]["attainable"]["collateral"]["value"] == 0.1
    assert surprise["application"]["attainable"]["tau"] == 4.0
    lines = surprise["validation"]["units"]["lines"]
    assert (lines["counts"]["tp"], surprise["validation"]["units"]["tokens"]) == (1, None)
    json.dumps(found, allow_nan=False)


def test_suitable_confirmed_and_chosen_at_the_threshold_that_attains_the_coverage():
    plan = Plan(coverage=0.5, acceptable_collateral=0.1)
    found = measure(GOOD, GOOD, [SURPRISE, REGEX], plan)
    assert {name: own["decision"] for name, own in found["verdicts"].items()} == {
        "surprise": "suitable",
        "regex": "suitable",
    }
    choice = found["choice"]  # F1 0.83 against 0.67
    assert (choice["filter"], choice["tau"], choice["decision"]) == ("surprise", 3.0, "suitable")
    assert choice["application"]["counts"] == {"tp": 20, "fp": 8, "fn": 0, "tn": 72}
    assert choice["categories"]["validation"][0]["counts"]["tp"] == 20
    assert "on the application side" in found["verdicts"]["surprise"]["reason"]
    assert measure(GOOD, GOOD, [SURPRISE, REGEX], Plan(coverage=0.5, use="regex"))["choice"]["tau"] == 0.5


def test_where_the_largest_f1_covers_too_little_the_threshold_falls_until_it_covers_enough():
    own = corpus({0: 5.0, 20: 1.0}, [(50, 80, 2.0)])
    found = measure(own, own, [SURPRISE], Plan(coverage=0.9, acceptable_collateral=0.4))
    assert found["filters"]["surprise"]["tau"] == 5.0
    assert found["filters"]["surprise"]["validation"]["operating"]["tau"] == 1.0
    assert (found["choice"]["tau"], found["choice"]["decision"]) == (1.0, "suitable")
    assert found["choice"]["validation"]["counts"] == {"tp": 20, "fp": 30, "fn": 0, "tn": 50}


def test_the_best_of_the_suitable_filters_is_chosen():
    own = corpus({0: 5.0, 20: 3.0}, [(50, 54, 9.0)], regex=[(0, 30, 1.0)])
    found = measure(own, None, [REGEX, SURPRISE], Plan(coverage=0.9, acceptable_collateral=0.2))
    assert found["choice"]["filter"] == "surprise"  # 4 characters too many; regex takes 10
    assert "No labels of the application side confirm it" in found["verdicts"]["surprise"]["reason"]


def test_a_costly_filter_redacts_only_by_name():
    plan = Plan(coverage=0.9, acceptable_collateral=0.05)
    found = measure(GOOD, GOOD, [SURPRISE], plan)
    verdict = found["verdicts"]["surprise"]
    assert verdict["decision"] == "costly"
    assert "covers 50.0% of the targets, less than the 90% asked for; 90% would cost 10.0%" in verdict["reason"]
    assert (found["choice"]["filter"], found["choice"]["tau"], found["choice"]["decision"]) == (None, None, "none")
    assert "nothing is redacted: surprise is costly" in found["choice"]["reason"]
    named = measure(GOOD, GOOD, [SURPRISE], Plan(coverage=0.9, acceptable_collateral=0.05, use="surprise"))["choice"]
    assert (named["filter"], named["tau"], named["decision"]) == ("surprise", 3.0, "costly")


def test_a_costly_filter_that_is_named_redacts_where_it_covers_what_was_asked_for():
    own = corpus({0: 5.0, 20: 1.0}, [(50, 80, 2.0)])  # the largest F1 is at 5.0, where it covers half
    found = measure(own, own, [SURPRISE], Plan(coverage=0.9, acceptable_collateral=0.1, use="surprise"))["choice"]
    assert (found["tau"], found["decision"], found["validation"]["tpr"]["value"]) == (1.0, "costly", 1.0)


def test_a_key_that_no_record_has_is_refused():
    with pytest.raises(InputError, match="the key"):
        measure(GOOD, GOOD, [SURPRISE], Plan(by="attack"))


@pytest.mark.parametrize("level", [1.0, 9.0])  # the keys are missed there, or found at too high a price
def test_what_the_application_side_contradicts_is_unconfirmed(level):
    elsewhere = corpus({0: level, 20: level}, [(40, 100, 9.0)])
    found = measure(GOOD, elsewhere, [SURPRISE], Plan())
    assert found["verdicts"]["surprise"]["decision"] == "unconfirmed"
    assert found["choice"]["filter"] is None


def test_an_inverted_filter_is_told_so():
    own = corpus({0: 1.0, 20: 1.0}, [(40, 100, 9.0)])
    verdict = measure(own, None, [SURPRISE], Plan())["verdicts"]["surprise"]
    assert verdict["decision"] == "inverted"
    assert "AUROC 0.250, under 0.5" in verdict["reason"]


@pytest.mark.parametrize("own", [corpus({}, [(0, 5, 1.0)]), corpus({0: 1.0}, [], length=10), side([], surprise=[])])
def test_without_both_classes_nothing_is_measured(own):
    found = measure(own, own, [SURPRISE], Plan())
    assert found["verdicts"]["surprise"]["decision"] == "undefined"
    assert found["filters"]["surprise"]["validation"]["auroc"]["value"] is None
    assert found["filters"]["surprise"]["gap"] is None
    json.dumps(found, allow_nan=False)


def test_figures_per_value_and_their_unweighted_mean():
    records = [record(n, "x" * 20, [(0, 10, "key")], "g", attack=attack) for n, attack in enumerate("aab")]
    own = side([*records, record(3, "x" * 20)], surprise=[[(0, 10, 1.0)], [], [(0, 20, 1.0)], []])
    found = measure(own, own, [SURPRISE], Plan(by="attack"))["filters"]["surprise"]["application"]
    assert {value: each["counts"] for value, each in found["by"].items()} == {
        "a": {"tp": 10, "fp": 0, "fn": 10, "tn": 20},
        "b": {"tp": 10, "fp": 10, "fn": 0, "tn": 0},
    }
    assert found["by_mean"]["f1"] == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert found["by_mean"]["tpr"] == 0.75
    assert found["by_mean"]["precision"] == 0.75


def test_labelled_strings_of_a_category_are_counted_by_label():
    meta = [{"key": {"true": 1, "false": 2}}, {"key": {"true": 1, "false": 0}, "name": {"true": 0, "false": 1}}]
    records = [record(n, "x" * 20, [(0, 10, "key")], anchors=own) for n, own in enumerate(meta)]
    found = measure(side(records, surprise=[[], []]), None, [SURPRISE], Plan())["filters"]["surprise"]["validation"]
    assert [(row["category"], row["anchors"]) for row in found["categories"]] == [("key", {"true": 2, "false": 2})]


def test_a_threshold_frozen_over_folds_is_the_middle_one():
    records = [record(n, "x" * 20, [(0, 10, "key")]) for n in range(3)]
    own = side(records, surprise=[[(0, 10, level), (10, 20, 1.0)] for level in (7.0, 5.0, 3.0)])
    found = measure(own, None, [SURPRISE], Plan(threshold_folds=3))["filters"]["surprise"]
    # Without one of them the others choose 3, 3 and 5.
    assert (found["chosen"], found["tau"], sorted(each["tau"] for each in found["folds"]["folds"])) == (
        "folds",
        3.0,
        [3.0, 3.0, 5.0],
    )
    assert found["validation"]["counts"] == {"tp": 30, "fp": 0, "fn": 0, "tn": 30}


def test_thresholds_on_lines_are_of_lines():
    text = "aaaa\nbb\ncccc\n"
    own = side([record(0, text, [(8, 12, "dead")])], surprise=[[(0, 4, 1.0), (5, 7, 3.0), (8, 12, 2.0)]])
    found = measure(own, None, [SURPRISE], Plan(unit="lines"))["filters"]["surprise"]
    assert found["tau"] == 2.0
    assert found["validation"]["counts"] == {"tp": 1, "fp": 1, "fn": 0, "tn": 1}
    assert found["validation"]["units"]["characters"]["counts"] == {"tp": 4, "fp": 2, "fn": 0, "tn": 7}


def test_thresholds_on_tokens_take_tokens():
    one = record(0, "ab cd", [(3, 5, "key")])
    own = side([one], surprise=[[(0, 2, 1.0), (3, 5, 2.0)]])
    with pytest.raises(InputError, match="tokens take a filter with a reference"):
        measure(own, None, [SURPRISE], Plan(unit="tokens"))
    ordinary = np.array([True, True])
    tokens = Tokens(np.arange(2), np.array([0, 3]), np.array([2, 5]), ~ordinary, ordinary)
    found = measure(Side([one], own.profiles, [tokens]), None, [SURPRISE], Plan(unit="tokens"))
    assert found["filters"]["surprise"]["validation"]["counts"] == {"tp": 1, "fp": 0, "fn": 0, "tn": 1}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(use="surprize"), "no filter 'surprize' to redact with; .*surprise"),
        (Plan(regimes=["frontent"]), "no regime 'frontent'; .*frontend"),
        (Plan(families={"name": "people"}), "no family for key"),
    ],
)
def test_names_that_stand_for_nothing_are_refused(plan, words):
    with pytest.raises(InputError, match=words):
        measure(GOOD, None, [SURPRISE], plan)
