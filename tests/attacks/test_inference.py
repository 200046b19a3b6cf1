"""Candidate sets and inference: exact chances, nested sets, ties, slots beyond the context."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import pytest
from cases.small_models import MarkovLanguageModel, rows

from sm_ops.attacks import candidate_sets
from sm_ops.attacks.exact import MarkovModel
from sm_ops.attacks.material import Material
from sm_ops.attacks.members import inference
from sm_ops.core.records import Record, Span

pytestmark = pytest.mark.unit


def settings(**changes):
    return SimpleNamespace(**{
        "cases": 1000, "sizes": (2, 3), "draw": "sentence", "knowledge": ("both", "prefix"), "contexts": (None,),
        "criterion": "ppl", "surroundings": "scrubbed", "min_chars": 0,
    } | changes)  # fmt: skip


def record(name, text, *spans):
    return Record(name, text=text, spans=tuple(Span(*span) for span in spans))


def near(found, chance, n):
    return abs(found - n * chance) <= 5 * (n * chance * (1 - chance)) ** 0.5


def value(measures, name, **labels):
    wanted = {"measure": name, "class": "all", **labels}
    [found] = [each for each in measures if wanted.items() <= each.items() and "occurrences" not in each]
    return found["value"]


# Candidate sets

SENTENCES = [["A", "A"], ["A", "B"], [], ["C"]]


@pytest.mark.parametrize(
    ("how", "chances", "included"),
    [
        # B is the target of a set of two: one other, A or C, by their chances without B
        ("sentence", ["1/2", "1/6", "1/3"], ["3/5", "1", "2/5"]),
        ("unique", ["1/3", "1/3", "1/3"], ["1/2", "1", "1/2"]),
    ],
)
def test_chances_by_hand_and_drawn_sets_that_agree(how, chances, included):
    exact = candidate_sets.chances(SENTENCES, how)
    assert exact == dict(zip("ABC", map(Fraction, chances), strict=True))
    assert candidate_sets.inclusion(exact, "B", 2) == dict(zip("ABC", map(Fraction, included), strict=True))
    seen = Counter(each for seed in range(1000) for each in candidate_sets.ordered(exact, "B", 2, seed))
    assert seen["B"] == 1000
    assert near(seen["A"], float(Fraction(included[0])), 1000)


def test_a_sentence_names_a_string_once_however_often_it_does():
    assert candidate_sets.chances([["A", "A", "B"], ["B"]], "sentence") == {"A": Fraction(1, 4), "B": Fraction(3, 4)}


def test_larger_sets_are_drawn_with_the_exact_chances_too():
    exact = candidate_sets.chances([["a", "b"], ["a"], ["c", "d", "e"], ["a", "e"]], "sentence")
    included = candidate_sets.inclusion(exact, "d", 4)
    assert sum(included.values()) == 4
    seen = Counter(each for seed in range(1500) for each in candidate_sets.ordered(exact, "d", 4, seed))
    assert all(near(seen[each], float(included[each]), 1500) for each in "abce")


def test_a_set_holds_the_true_value_once_and_no_other_string_twice():
    # the official code may draw the true value again among the others
    exact = candidate_sets.chances([["a"]] * 50 + [["b"], ["c"], ["d"]], "sentence")
    for seed in range(50):
        drawn = candidate_sets.ordered(exact, "a", 4, seed)
        assert drawn[0] == "a"
        assert sorted(drawn) == ["a", "b", "c", "d"]
        assert candidate_sets.ordered(exact, "a", 2, seed) == drawn[:2]
    assert len(candidate_sets.ordered(exact, "a", 100, 0)) == 4
    assert candidate_sets.inclusion(exact, "a", 100) == dict.fromkeys("abcd", 1)


def test_sentences_hold_the_mentions_that_start_in_them():
    text = "Ann met Bob. Ann left.\nOslo is far."
    spans = [(0, 3, "PERSON"), (8, 11, "PERSON"), (13, 16, "PERSON"), (23, 27, "LOC")]
    material = Material([record("r", text, *spans), record("s", "Cy ran", (0, 2, "PERSON"))])
    assert candidate_sets.by_sentence(material, "PERSON") == [["Ann", "Bob"], ["Ann"], ["Cy"]]
    assert candidate_sets.by_sentence(material, "PERSON", min_chars=3) == [["Ann", "Bob"], ["Ann"]]
    assert candidate_sets.by_sentence(material, "LOC") == [["Oslo"]]


# Inference: behind a comes x, y or z; e follows y and z alike, and hardly x.

BIGRAM = MarkovLanguageModel(
    MarkovModel(
        start=rows(s="a 1")["s",],
        table=rows(a="x 1/2 y 1/4 z 1/4", x="e 1/8 a 7/8", y="e 1/2 a 1/2", z="e 1/2 a 1/2", e="a 1"),
    )
)


def members(values, text="a{}e"):
    return Material([record(f"r{i}", text.format(each), (1, 2, "PERSON")) for i, each in enumerate(values)])


def run(material, model=BIGRAM, seed=0, **changes):
    return inference.run(model, material, settings(**changes), seed)


def hits(found, **labels):
    return {row["case"]: row["hit"] for row in found if labels.items() <= row.items()}


def test_knowledge_by_hand():
    found = run(members("xyz"))
    assert hits(found, size=3, knowledge="both") == {"r0/0": False, "r1/0": True, "r2/0": False}
    assert hits(found, size=3, knowledge="prefix") == {"r0/0": True, "r1/0": False, "r2/0": False}
    assert {row["tied"] for row in found if row["size"] == 3 and row["knowledge"] == "both"} == {2}
    assert {row["tied"] for row in found if row["size"] == 3 and row["knowledge"] == "prefix"} == {1}


def test_smaller_sets_are_within_larger_ones_and_agree_with_exact_chances():
    material = members("xyz" * 100)
    found = run(material, sizes=(2, 3))
    for knowledge in ("both", "prefix"):
        small, large = (hits(found, size=size, knowledge=knowledge) for size in (2, 3))
        assert all(small[case] for case in large if large[case])
    # y against one other wins always, z only against x, x never
    ys, zs, xs = ([row for row in found if row["size"] == 2 and row["knowledge"] == "both"
                   and row["fingerprint"] == material.fingerprint("PERSON", name)] for name in "yzx")  # fmt: skip
    assert all(row["hit"] for row in ys)
    assert not any(row["hit"] for row in xs)
    assert near(sum(row["hit"] for row in zs), 1 / 2, 100)


@pytest.mark.parametrize("criterion", ["ppl", "prob"])
def test_a_size_says_the_same_alone_and_read_off_a_larger_set(criterion):
    material = members("xyz" * 5)
    both = run(material, sizes=(3, 2), criterion=criterion)
    alone = run(material, sizes=(2,), criterion=criterion)
    assert [row for row in both if row["size"] == 2] == alone
    assert [row["size"] for row in both[:2]] == [3, 2]


def test_sets_larger_than_there_are_strings_say_so():
    found = run(members("xyz"), sizes=(2, 500))
    assert {(row["size"], row["got"]) for row in found} == {(2, 2), (500, 3)}
    measures = inference.summary(found, None, settings())
    assert value(measures, "chance", size=500, knowledge="both") == pytest.approx(1 / 3)
    assert value(measures, "got", size=500, knowledge="both") == 3


def test_a_value_without_others_is_no_guess():
    records = [*members("xyz").records, record("o", "axe", (1, 2, "ORG"))]
    found = run(Material(records))
    assert {row["hit"] for row in found if row["class"] == "ORG"} == {None}
    measures = inference.summary(found, found, settings())
    labels = {"size": 2, "knowledge": "both"}
    assert value(measures, "without_others", **labels) == 1 / 4
    assert not [each for each in measures if each["measure"] == "accuracy" and each["class"] == "ORG"]


# A text far longer than the context: the official code cuts it off and gives all candidates the same score.


def test_a_slot_beyond_the_context_is_slid_into_view():
    near_by = MarkovLanguageModel(BIGRAM.exact, context=16)
    text = "aye" * 20 + "a{}e" + "aye" * 20
    values = "xyz"
    material = Material([record(f"r{i}", text.format(each), (61, 62, "PERSON")) for i, each in enumerate(values)])
    found = run(material, near_by, surroundings="original")
    assert all(row["slid"] for row in found)
    assert hits(found, size=3, knowledge="both") == {"r0/0": False, "r1/0": True, "r2/0": False}
    assert hits(found, size=3, knowledge="prefix") == {"r0/0": True, "r1/0": False, "r2/0": False}
    assert value(inference.summary(found, None, settings()), "slid", size=3, knowledge="both") == 1


def test_contexts_are_characters_of_both_sides():
    # what stands two characters back decides; who sees one has a tie
    exact = MarkovModel(
        start=rows(s="a 1/3 b 1/3 c 1/3")["s",],
        order=2,
        table=rows(a="x 1/2 y 1/2", b="a 1", c="a 1", ba="x 3/4 y 1/4", ca="x 1/4 y 3/4"),
    )
    material = Material([record(f"r{i}", text, (2, 3, "PERSON")) for i, text in enumerate(["bax", "cay"])])
    model = MarkovLanguageModel(exact)
    found = run(material, model, sizes=(2,), contexts=(1, 2, None), knowledge=("prefix",))
    assert [row["context"] for row in found] == [1, 2, None] * 2
    assert hits(found, context=1) == {"r0/0": True, "r1/0": False}
    assert {row["tied"] for row in found if row["context"] == 1} == {2}
    assert hits(found, context=2) == hits(found, context=None) == {"r0/0": True, "r1/0": True}


def test_headline_is_the_first_size_knowledge_and_context():
    found = run(members("xyz"), sizes=(3, 2), contexts=(1, None))
    measures = inference.summary(found, None, settings())
    first = next(each for each in measures if inference.HEADLINE.items() <= each.items())
    assert (first["size"], first["knowledge"], first["context"], first["n"]) == (3, "both", 1, 3)


def test_exclusions_hold_for_each_size_and_knowledge():
    found = run(members("xyz"), sizes=(3,))
    measures = inference.summary(found, found, settings())
    # the same model as its own baseline: what it gets right is left out, and with the official code all of it
    assert value(measures, "accuracy", variant="none", knowledge="both") == pytest.approx(1 / 3)
    assert value(measures, "accuracy", variant="paper", knowledge="both") == 0
    assert value(measures, "accuracy", variant="repo", knowledge="both") is None


def test_order_changes_no_row_and_none_holds_text():
    material = members("xyzxy", text="a{}eaye")
    found = run(material)
    turned = run(Material(material.records[::-1]))
    told = ("case", "hit", "tied", "got", "slid", "size", "knowledge", "length", "occurrences")
    assert [[row[key] for key in told] for row in found] == [[row[key] for key in told] for row in turned]
    assert "aye" not in json.dumps(found)
    assert run(material) == found


def test_residual_masks_are_filled_before_candidates_are_scored():
    material = Material(
        [record("r", "ayeaxe", (1, 2, "PERSON"), (4, 5, "PERSON"))],
        fill=lambda texts: [each.replace("[MASK]", "y") for each in texts],
    )
    found = run(material, sizes=(2,), knowledge=("both",))
    assert {(row["masks"], row["filled"]) for row in found} == {(1, True)}
    measures = inference.summary(found, None, settings())
    assert value(measures, "masks") == 1
    assert value(measures, "filled") == 1
