"""Slots, reconstruction and TAB: by hand and against exact chances of small models, and the official code's faults."""

from __future__ import annotations

import json
from fractions import Fraction
from types import SimpleNamespace

import pytest
from cases.small_models import MarkovLanguageModel, PatternTagger, rows

from sm_ops.attacks import slots
from sm_ops.attacks.exact import MarkovModel
from sm_ops.attacks.material import Material
from sm_ops.attacks.members import reconstruction, tab
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.scoring.models.hf import load

pytestmark = pytest.mark.unit

# Behind "a" comes x rather than y or z, but "e" follows y and z only: reconstruction sees that, TAB does not.
BIGRAM = MarkovLanguageModel(
    MarkovModel(
        start=rows(s="a 1")["s",],
        table=rows(a="x 1/2 y 1/4 z 1/4", x="e 1/8 a 7/8", y="e 1/2 a 1/2", z="e 1/2 a 1/2", e="a 1"),
    )
)
TAGGER = PatternTagger(PERSON="[xyz]")


def settings(**changes):
    return SimpleNamespace(**{
        "cases": 1000, "samples": 2, "length": 1, "top_k": 0, "batch_size": 64, "draw": "prefix", "candidates": "paper",
        "criterion": "ppl", "surroundings": "scrubbed", "context": None, "min_chars": 0,
    } | changes)  # fmt: skip


def record(name, text, *spans):
    return Record(name, text=text, spans=tuple(Span(*span) for span in spans))


def copies(text, count, tagger=TAGGER, at=1):
    """Many records of one text, each a case with draws of its own."""
    return Material([record(f"r{i}", text, (at, at + 1, "PERSON")) for i in range(count)], tagger=tagger)


def near(found, chance, n):
    return abs(found - n * chance) <= 5 * (n * chance * (1 - chance)) ** 0.5


def value(measures, name, **labels):
    wanted = {"measure": name, "class": "all", **labels}
    found = [each for each in measures if wanted.items() <= each.items()]
    plain = [each for each in found if "occurrences" not in each or "occurrences" in labels]
    assert len(plain) == 1
    return plain[0]["value"]


# Slots


def drawn(material, **changes):
    return slots.draw(material, settings(**changes), seed=0)


def test_a_slot_stands_where_its_mention_does_not_where_its_text_occurs_first():
    # the official code splits at the first match: in "Mayor"
    [slot] = drawn(Material([record("r", "Mayor May left, May came", (16, 19, "PERSON"))]))
    seen = slots.view(slot, "original", Material([]))
    assert (seen.prefix, slot.value, seen.suffix) == ("Mayor May left, ", "May", " came")
    assert slots.view(slot, "scrubbed", Material([])).prefix == "Mayor [MASK] left, "


def test_all_that_overlaps_a_mention_belongs_to_its_slot():
    text = "to Ann Lee Ltd, 5 Oak St"
    spans = [(3, 10, "PERSON"), (3, 6, "PERSON"), (7, 14, "ORG"), (16, 24, "LOC")]
    found = {slot.label: slot for slot in drawn(Material([record("r", text, *spans)]))}
    assert {label: slot.value for label, slot in found.items()} == {
        "PERSON": "Ann Lee", "ORG": "Lee Ltd", "LOC": "5 Oak St",
    }  # fmt: skip
    assert {slot.case for slot in found.values()} == {"r/0", "r/1", "r/2"}
    seen = slots.view(found["PERSON"], "scrubbed", Material([]))
    assert (seen.prefix, seen.suffix, seen.masks) == ("to ", ", [MASK]", 1)
    assert slots.view(found["LOC"], "scrubbed", Material([])).prefix == "to [MASK], "


def test_chains_of_overlaps_are_one_gap_and_touching_mentions_are_two():
    spans = [(1, 9, "PERSON"), (2, 3, "ORG"), (5, 12, "PERSON"), (12, 14, "PERSON")]
    found = drawn(Material([record("r", "0123456789abcdefgh", *spans)]))
    assert sorted((slot.start, slot.end, slot.label, slot.value) for slot in found) == [
        (1, 12, "ORG", "2"), (1, 12, "PERSON", "12345678"), (12, 14, "PERSON", "cd"),
    ]  # fmt: skip


def test_the_context_counts_characters_and_never_cuts_a_mask():
    text = "Ann met Bob in Oslo"
    material = Material([record("r", text, (0, 3, "PERSON"), (8, 11, "PERSON"), (15, 19, "LOC"))])
    bob = next(slot for slot in drawn(material) if slot.value == "Bob")
    views = [slots.view(bob, "scrubbed", material, context) for context in (6, 4, 1)]
    assert [(seen.prefix, seen.suffix) for seen in views] == [
        ("[MASK] met ", " in [MASK]"), ("met ", " in "), (" ", " "),
    ]  # fmt: skip
    assert slots.view(bob, "original", material, 6).prefix == "n met "


def test_outer_blanks_of_a_mention_are_text_around_it():
    [slot] = drawn(Material([record("r", "to  Ann  now", (3, 9, "PERSON"))]))
    seen = slots.view(slot, "scrubbed", Material([]))
    assert (seen.prefix, slot.value, seen.suffix, seen.masks) == ("to  ", "Ann", "  now", 0)


def test_a_filler_gets_both_sides_of_a_slot_and_only_where_there_is_a_mask():
    asked = []

    def fill(texts):
        asked.append(list(texts))
        return [text.replace("[MASK]", "Eve") for text in texts]

    material = Material([record("r", "Ann met Bob", (0, 3, "PERSON"), (8, 11, "PERSON"))], fill=fill)
    bob, ann = sorted(drawn(material), key=lambda slot: -slot.start)
    seen = slots.view(bob, "scrubbed", material)
    assert (seen.prefix, seen.masks, seen.filled) == ("Eve met ", 1, True)
    assert asked == [["[MASK] met ", ""]]
    assert slots.view(ann, "scrubbed", material, context=3).filled is False


def test_cases_are_drawn_by_name_for_each_class():
    records = [record(f"r{i}", "xy", (0, 1, "PERSON"), (1, 2, "ORG")) for i in range(20)]
    chosen = drawn(Material(records), cases=5)
    assert [slot.label for slot in chosen] == ["ORG"] * 5 + ["PERSON"] * 5
    assert {slot.case for slot in chosen} == {slot.case for slot in drawn(Material(records[::-1]), cases=5)}
    more = drawn(Material(records), cases=8)
    assert {slot.case for slot in chosen} < {slot.case for slot in more}
    assert chosen[0].occurrences == 20


def test_short_mentions_are_kept_unless_one_says_so():
    material = Material([record("r", "Al and Anna", (0, 2, "PERSON"), (7, 11, "PERSON"))])
    assert {slot.value: slot.case for slot in drawn(material)} == {"Al": "r/0", "Anna": "r/1"}
    assert {slot.value: slot.case for slot in drawn(material, min_chars=4)} == {"Anna": "r/1"}
    with pytest.raises(InputError) as refused:
        drawn(material, min_chars=5)
    assert refused.value.code == "no-slots"


def test_a_blank_that_the_next_word_takes_into_its_token_is_left_to_the_model():
    # as byte-level tokenizers do: "a x" is "a", " x", so that "a", " " is no beginning of it
    words = MarkovLanguageModel(
        MarkovModel(start={token: Fraction(1, 5) for token in ("\n", " ", " x", "a", "x")}, table={})
    )
    assert slots.prompt(words, "a ", length=1) == slots.prompt(words, "a", length=1)
    assert slots.prompt(words, "a\n", length=1) == [0, *words.encode("a\n")[0]]


def test_what_does_not_fit_is_cut_far_from_the_slot():
    assert BIGRAM.context == 64
    plain = slots.prompt(BIGRAM, "xa" * 40 + "yey", length=3)
    assert (len(plain), plain[0], BIGRAM.decode(plain[-4:])) == (61, 0, "ayey")
    with pytest.raises(InputError) as refused:
        slots.prompt(BIGRAM, "a", length=63)
    assert refused.value.code == "length-too-long"


# Reconstruction


@pytest.mark.parametrize(("draw", "texts"), [("prefix", 2), ("suffix", 4)])
@pytest.mark.parametrize("true", ["x", "y", "z"])
def test_sampled_rates_agree_with_exact_chances(true, draw, texts):
    # x with 1/2, y and z with 1/4 in each text; the suffix is e, so y and z beat x, and y beats the tied z
    without = {"x": 1 / 2, "y": 3 / 4, "z": 3 / 4}
    better = {"x": (1 / 2) ** texts, "y": 1 - (3 / 4) ** texts, "z": (3 / 4) ** texts - (1 / 2) ** texts}
    found = reconstruction.run(BIGRAM, copies(f"a{true}e", 300), settings(draw=draw), seed=1)
    assert near(sum(row["among"] for row in found), 1 - without[true] ** texts, 300)
    assert near(sum(row["hit"] for row in found), better[true], 300)
    assert max(row["tied"] for row in found) == 2
    assert all(row["hit"] <= row["among"] for row in found)


def test_with_the_suffix_known_more_and_shorter_texts_are_drawn():
    class Asked(MarkovLanguageModel):
        def sample(self, prefix, chances, **how):
            shapes.append(chances.shape)
            return super().sample(prefix, chances, **how)

    shapes = []
    for draw in ("prefix", "suffix"):
        reconstruction.run(Asked(BIGRAM.exact), copies("aye", 1), settings(draw=draw, samples=3, length=7), seed=0)
    assert shapes == [(3, 7), (6, 4)]


def test_rates_of_a_real_model(shared):
    where = str(shared / "cases" / "masking" / "models" / "char")
    model = load(SimpleNamespace(
        model=where, revision=None, dtype="float32", device="cpu", threads=1, token_budget=None
    ))  # fmt: skip
    # behind b comes c with 1/2 and d with 1/8, then e with 1/8 and 1/2: d is tied with c, and beats all others
    found = reconstruction.run(model, copies("abdef", 60, PatternTagger(PERSON="[a-z]"), at=2), settings(), seed=3)
    assert near(sum(row["among"] for row in found), 1 - (7 / 8) ** 2, 60)
    assert near(sum(row["hit"] for row in found), (1 / 2) ** 2 - (3 / 8) ** 2, 60)


def test_equal_perplexities_keep_both_candidates():
    # the official code keys a dict by perplexity, so that the last of tied candidates survives
    [row] = reconstruction.run(BIGRAM, copies("aye", 1), settings(samples=64), seed=0)
    assert (row["candidates"], row["tied"], row["hit"]) == (3, 2, True)


def test_without_a_candidate_there_is_no_guess_and_that_is_wrong():
    found = reconstruction.run(BIGRAM, copies("aye", 3, PatternTagger(PERSON="w")), settings(), seed=0)
    assert [(row["guess"], row["hit"], row["candidates"]) for row in found] == [(None, False, 0)] * 3
    measures = reconstruction.summary(found, found, settings())
    assert value(measures, "no_candidate") == 1
    # no guess of both is no equal guess
    assert [value(measures, "accuracy", variant=name) for name in ("none", "paper", "repo")] == [0, 0, 0]
    assert value(measures, "accuracy_among", variant="none") is None


def test_candidates_are_of_the_slots_class():
    tagger = PatternTagger(PERSON="[yz]", ORG="x")
    [row] = reconstruction.run(BIGRAM, copies("axe", 1, tagger), settings(samples=64), seed=0)
    assert (row["candidates"], row["among"]) == (2, False)


@pytest.mark.parametrize(("text", "person", "other"), [("ayeaxe", 1, 4), ("axeaye", 4, 1)])
def test_repo_takes_persons_and_no_string_of_the_query(text, person, other):
    spans = [(person, person + 1, "PERSON"), (other, other + 1, "ORG")]
    material = Material([record("r", text, *spans)], tagger=PatternTagger(PERSON="[xyz]", ORG="[xyz]"))
    asked = {"samples": 64, "surroundings": "original"}
    paper = reconstruction.run(BIGRAM, material, settings(**asked), seed=0)
    repo = reconstruction.run(BIGRAM, material, settings(**asked, candidates="repo"), seed=0)
    assert [(row["class"], row["candidates"]) for row in paper] == [("ORG", 3), ("PERSON", 3)]
    assert [(row["class"], row["candidates"]) for row in repo] == [("PERSON", 2)]


def test_criterion_changes_the_guess():
    # a longer candidate can have the lower perplexity at half the probability
    model = MarkovLanguageModel(
        MarkovModel(
            start=rows(s="s 1")["s",],
            table=rows(s="e 7/16 w 1/16 y 1/2", y="e 1/4 s 3/4", w="v 1", v="u 1", u="t 1", t="e 1", e="s 1"),
        )
    )
    material = Material([record("r", "sye", (1, 2, "PERSON"))], tagger=PatternTagger(PERSON="y|wvut"))
    rows_of = {
        criterion: reconstruction.run(model, material, settings(criterion=criterion, samples=99, length=4), seed=0)
        for criterion in ("ppl", "prob")
    }
    assert [rows_of[criterion][0]["hit"] for criterion in ("ppl", "prob")] == [False, True]
    assert rows_of["ppl"][0]["candidates"] == 2


def test_neither_batches_nor_order_change_a_row_and_none_holds_text():
    records = [record(f"r{i}", "aqyqe".replace("q", "a"), (2, 3, "PERSON")) for i in range(6)]
    plain = Material(records, tagger=TAGGER)
    found = reconstruction.run(BIGRAM, plain, settings(samples=5), seed=0)
    assert reconstruction.run(BIGRAM, plain, settings(samples=5, batch_size=2), seed=0) == found
    turned = reconstruction.run(BIGRAM, Material(records[::-1], tagger=TAGGER), settings(samples=5), seed=0)
    told = ("case", "hit", "among", "candidates", "tied")
    assert [[row[key] for key in told] for row in turned] == [[row[key] for key in told] for row in found]
    long = Material([record("r", "aye", (0, 3, "PERSON"))], tagger=TAGGER)
    assert "aye" not in json.dumps(reconstruction.run(BIGRAM, long, settings(), seed=0))


def test_more_samples_never_lose_the_true_value():
    few, many = (reconstruction.run(BIGRAM, copies("aze", 30), settings(samples=n), seed=0) for n in (1, 64))
    assert all(a["among"] <= b["among"] for a, b in zip(few, many, strict=True))


def test_a_model_without_a_first_token_has_no_guess_at_the_beginning():
    bare = MarkovLanguageModel(BIGRAM.exact)
    bare.prefix = ()
    [row] = reconstruction.run(bare, copies("xe", 1, at=0), settings(), seed=0)
    assert (row["guess"], row["candidates"]) == (None, 0)


def test_a_tagger_is_needed():
    with pytest.raises(InputError) as refused:
        reconstruction.run(BIGRAM, copies("aye", 1, tagger=None), settings(), seed=0)
    assert refused.value.code == "no-tagger"


# What is left out because the public model knows it too


def guess(case, name, hit, label="PERSON", occurrences=1, **more):
    return {
        "case": case, "class": label, "occurrences": occurrences, "guess": name, "hit": hit, "masks": 0,
        "filled": False, "among": hit, "candidates": 1, "tied": 1, "slid": False, **more,
    }  # fmt: skip


def test_exclusions_by_hand():
    # right in both, right here alone, equal and wrong, different and wrong
    attacked = [guess(1, "a", True), guess(2, "b", True), guess(3, "c", False, "ORG"), guess(4, "d", False)]
    public = [guess(4, "q", False), guess(3, "c", False), guess(2, "q", False), guess(1, "a", True)]
    measures = reconstruction.summary(attacked, public, settings())
    # the official code leaves out what both guess, right or wrong: cases 1 and 3
    expected = {"none": 2 / 4, "paper": 1 / 3, "repo": 1 / 2}
    assert {name: value(measures, "accuracy", variant=name) for name in expected} == expected
    assert value(measures, "among", variant="paper") == 1 / 3
    assert value(measures, "accuracy_among", variant="paper") == 1
    alone = reconstruction.summary(attacked, None, settings())
    assert {value(alone, "accuracy", variant=name) for name in expected} == {1 / 2}


def test_success_by_class_and_by_occurrences():
    found = [guess(1, "a", True, occurrences=3), guess(2, "b", False, occurrences=4), guess(3, "c", True, "ORG")]
    measures = reconstruction.summary(found, None, settings())
    assert value(measures, "accuracy", variant="none", **{"class": "ORG"}) == 1
    assert value(measures, "accuracy", variant="none", occurrences="3-4") == 1 / 2
    assert value(measures, "accuracy", variant="none", occurrences="1") == 1


def test_a_baseline_of_other_cases_is_refused():
    with pytest.raises(InputError) as refused:
        reconstruction.summary([guess(1, "a", True)], [guess(2, "a", True)], settings())
    assert refused.value.code == "other-cases"


# TAB


def test_tab_ignores_the_suffix():
    found = [tab.run(BIGRAM, copies(f"a{true}e", 1), settings(), seed=0) for true in "xy"]
    assert [[(row["criterion"], row["hit"]) for row in rows] for rows in found] == [
        [("text", True), ("mention", True)], [("text", False), ("mention", False)],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "length", "begins"),
    [
        ("Ann left", 3, "Ann"),
        ("Anna left", 3, "Anna"),
        ("Ann", 5, "Ann"),
        ("Ann, left", 4, "Ann,"),
        ("A-1/2", 3, "A-1"),
        ("김철수는", 3, "김철수"),
        ("Müller", 1, "Müller"),
        ("", 3, ""),
    ],
)
def test_a_continuation_begins_with_whole_words(text, length, begins):
    assert tab.beginning(text, length) == begins


CHAIN = MarkovLanguageModel(
    MarkovModel(
        start=rows(s="a 1")["s",],
        table={("a",): {"Ann": 1}, ("Ann",): {" ": 1}, (" ",): {"Lee": 1}, ("Lee",): {"a": 1}},
    )
)


@pytest.mark.parametrize(
    ("true", "pattern", "text", "mention"),
    [
        ("Ann", "Ann", True, True),
        ("Ann", "Ann Lee", True, False),  # the tagger sees a longer name
        ("Ann Lee", "Ann", True, False),
        ("Lee", "Lee", False, False),  # it does not stand at the beginning
        ("An", "Ann", False, False),
    ],
)
def test_both_criteria_of_tab_and_where_they_differ(true, pattern, text, mention):
    material = Material([record("r", f"a{true}", (1, 1 + len(true), "PERSON"))], tagger=PatternTagger(PERSON=pattern))
    found = tab.run(CHAIN, material, settings(length=3), seed=0)
    assert {row["criterion"]: row["hit"] for row in found} == {"text": text, "mention": mention}
    assert value(tab.summary(found, None, settings()), "accuracy", variant="paper", criterion="text") == text


def test_tab_needs_no_tagger():
    assert [row["criterion"] for row in tab.run(BIGRAM, copies("axe", 1, tagger=None), settings(), seed=0)] == ["text"]
