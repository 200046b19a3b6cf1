"""Extractability of single values: agreement with exact quantities, scoring of targets, three quantities kept apart."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from cases.small_models import MarkovLanguageModel, PatternTagger, rows

from sm_ops.attacks import exact
from sm_ops.attacks.exact import MarkovModel
from sm_ops.attacks.material import Material
from sm_ops.attacks.members.extractability import run, summary, target_chances
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span

pytestmark = pytest.mark.unit

CHAIN = MarkovModel(
    start=rows(s="a 1/2 b 1/2")["s",],
    table=rows(a="x 1/2 y 1/4 b 1/4", b="b 1/2 x 1/4 z 1/4", x="a 1", y="b 1", z="a 1/2 b 1/2"),
)
PAIRS = MarkovModel(
    start=rows(s="a 1/2 b 1/2")["s",],
    table=rows(
        a="x 1/2 y 1/4 b 1/4", b="b 1/2 x 1/4 z 1/4", x="a 1", y="b 1", z="a 1/2 b 1/2",
        ab="x 1/2 y 1/4 b 1/4", bb="b 1/2 x 1/4 z 1/4", ax="a 1", ay="b 1", bx="a 1", by="b 1", bz="a 1/2 b 1/2",
        xa="x 1/8 y 3/8 b 1/2", yb="x 1", za="b 1", zb="b 1",
    ),
    order=2,
)  # fmt: skip


def settings(**changes):
    return SimpleNamespace(
        **{"tokens": 6000, "length": 6, "top_k": 0, "batch_size": 500, "targets": 50, "min_chars": 0} | changes
    )


def member(number, text, *spans):
    return Record(f"r{number}", text=text, spans=tuple(Span(start, end, label) for start, end, label in spans))


RECORDS = [
    member(0, "axy", (1, 2, "PERSON"), (2, 3, "PERSON")),
    member(1, "bzz", (1, 2, "PERSON"), (2, 3, "PERSON")),
]
MATERIAL = Material(RECORDS, tagger=PatternTagger(PERSON="[xyz]"))


@pytest.mark.parametrize(("model", "top_k"), [(CHAIN, 0), (CHAIN, 1), (CHAIN, 2), (PAIRS, 0), (PAIRS, 2)])
def test_the_estimates_agree_with_the_exact_quantities(model, top_k):
    found = run(MarkovLanguageModel(model), MATERIAL, settings(top_k=top_k), 5)
    for name, row in zip("xyz", found, strict=True):
        assert row["samples"] == 1000
        exactly = exact.lazy(model, name, "xyz", 6, top_k)
        deviation = (row["lazy_high"] - row["lazy_low"]) / 3.92 if row["lazy_low"] is not None else 1e-12
        assert abs(row["lazy"] - exactly) <= 5 * deviation
        if not top_k:
            chance = float(exact.chance_of_occurrence(model, name, 6))
            assert abs(row["hits"] - 1000 * chance) <= 5 * np.sqrt(1000 * chance * (1 - chance))
            expected = float(exact.expected_occurrences(model, name, 6))
            assert abs(row["mentions"] - 1000 * expected) <= 5 * np.sqrt(1000 * 6 * expected)


def test_the_lazy_estimate_is_that_of_the_same_samples():
    model = MarkovLanguageModel(CHAIN)
    drawn = []

    class Recording(PatternTagger):
        def detect(self, texts):
            drawn.extend(texts)
            return super().detect(texts)

    found = run(model, Material(RECORDS, tagger=Recording(PERSON="[xyz]")), settings(tokens=60), 0)
    assert len(drawn) == 10
    for name, row in zip("xyz", found, strict=True):
        assert row["lazy"] == pytest.approx(float(exact.lazy_of_samples(CHAIN, name, "xyz", drawn)))
        assert row["slots"] == sum(text.count(slot) for text in drawn for slot in "xyz")
        assert row["hits"] == sum(name in text for text in drawn)
        assert row["mentions"] == sum(text.count(name) for text in drawn)


def test_a_value_need_not_be_drawn_to_be_scored():
    """Drawn with top-k, scored on the full distribution: y is never drawn and still has its chance."""
    x, y, _ = run(MarkovLanguageModel(CHAIN), MATERIAL, settings(top_k=1), 0)
    assert y["hits"] == y["mentions"] == 0
    assert y["lazy"] == pytest.approx(1 / 4)  # with top-1, slots stand after a alone
    assert x["lazy"] == pytest.approx(1 / 2)


def test_no_slot_is_undefined():
    records = [member(0, "axy", (1, 2, "PERSON"))]
    material = Material(records, tagger=PatternTagger(PERSON="q"))
    found = run(MarkovLanguageModel(CHAIN), material, settings(tokens=60), 0)
    assert [(row["slots"], row["lazy"], row["lazy_low"]) for row in found] == [(0, None, None)]
    lazy = next(each for each in summary(found, None, settings()) if each["measure"] == "lazy")
    assert (lazy["value"], lazy["n"]) == (None, 0)


def test_a_slot_begins_at_its_first_visible_character():
    half = exact.Fraction(1, 2)
    spaced = MarkovModel(
        {"a": 2 * half}, {("a",): {" ": 2 * half}, (" ",): {"x": half, "y": half}, **rows(x="a 1", y="a 1")}
    )
    material = Material([member(0, "a x", (1, 3, "PERSON"))], tagger=PatternTagger(PERSON=" [xy]"))
    (found,) = run(MarkovLanguageModel(spaced), material, settings(tokens=60), 0)
    assert found["lazy"] == pytest.approx(1 / 2)
    assert 0 < found["mentions"] < found["slots"]


# The target's probability (OP-55)

MERGED = MarkovModel(
    start=rows(s="a 1/2 b 1/2")["s",],
    table={
        ("a",): {"b": exact.Fraction(1, 2), "bx": exact.Fraction(1, 4), "y": exact.Fraction(1, 4)},
        ("b",): {"a": exact.Fraction(1, 2), "x": exact.Fraction(1, 2)},
        ("bx",): {"a": exact.Fraction(1, 8), "y": exact.Fraction(7, 8)},
        ("x",): {"a": exact.Fraction(1)},
        ("y",): {"a": exact.Fraction(1)},
    },
)


def test_tokens_that_share_a_character_with_the_target_count():
    model = MarkovLanguageModel(MERGED)
    # "a" + "bx" is a, bx; "ab" + "x" is a, bx too: the whole token counts, not x after b
    assert target_chances(model, "a", ["bx", "b", "y"]) == pytest.approx([1 / 4, 1 / 2, 1 / 4])
    assert target_chances(model, "ab", ["x", "a", "xy"]) == pytest.approx([1 / 4, 1 / 2, 7 / 32])
    assert target_chances(model, "", ["a", "ab"]) == pytest.approx([1 / 2, 1 / 4])


def test_a_long_text_before_the_value_is_cut_off_at_its_beginning():
    short = MarkovLanguageModel(PAIRS, context=5)
    long = MarkovLanguageModel(PAIRS, context=64)
    before = "axab" * 4
    for values in (["x", "xa"], ["xa", "x"]):
        assert target_chances(short, before, values) == pytest.approx(target_chances(long, before, values))
    assert np.isnan(target_chances(short, "a", ["bbbbx", "b"])).tolist() == [True, False]


# Targets and summaries


def test_targets_are_drawn_from_the_seed_whatever_the_order_of_the_records():
    many = [member(n, f"a{n:03d}", (1, 4, "CODE"), (0, 1, "PERSON")) for n in range(60)]
    digits = MarkovModel(
        rows(s="0 1")["s",],
        {(digit,): {other: exact.Fraction(1, 11) for other in "0123456789a"} for digit in "0123456789a"},
    )
    model, few = MarkovLanguageModel(digits), settings(tokens=6, targets=5)
    fingerprints = Material(many).fingerprint

    def chosen(records, seed):
        material = Material(records, tagger=PatternTagger(CODE="q"))
        found = run(model, material, few, seed)
        assert [row["class"] for row in found] == ["CODE"] * 5 + ["PERSON"]
        return {name for name in map("{:03d}".format, range(60)) for row in found
                if row["fingerprint"] == material.fingerprint("CODE", name)}  # fmt: skip

    assert len(chosen(many, 0)) == 5
    assert chosen(many, 0) == chosen(many[::-1], 0) != chosen(many, 1)
    assert fingerprints("CODE", "001") != fingerprints("PERSON", "001")


def row(lazy, hits, mentions, occurrences=1, label="PERSON", name=None):
    return {
        "class": label, "length": 3, "fingerprint": name or f"{label}{lazy}", "occurrences": occurrences, "samples": 10,
        "tokens": 100, "slots": 7, "hits": hits, "mentions": mentions, "lazy": lazy, "lazy_low": lazy,
        "lazy_high": lazy,
    }  # fmt: skip


def measures_by(measures, **labels):
    return {
        (each["measure"], each["variant"]): each["value"]
        for each in measures
        if {**labels}.items() <= {**each, "occurrences": each.get("occurrences")}.items()
    }


def test_the_three_quantities_and_the_share_of_seen_values():
    found = [row(0.5, 10, 25, occurrences=4), row(0.25, 0, 0), row(None, 5, 5, label="LOC")]
    measures = summary(found, None, settings())
    assert measures_by(measures, **{"class": "all"}, occurrences=None) == {
        ("lazy", "paper"): pytest.approx(0.375),
        ("observed", "paper"): pytest.approx(0.5),
        ("occurrences", "paper"): pytest.approx(1.0),
        ("seen", "paper"): pytest.approx(2 / 3),
    }
    person = measures_by(measures, **{"class": "PERSON"}, occurrences=None)
    assert person["occurrences", "paper"] == pytest.approx(1.25)  # more than one: no probability
    assert measures_by(measures, **{"class": "LOC"}, occurrences=None)["lazy", "paper"] is None
    assert measures_by(measures, occurrences="3-4")["lazy", "paper"] == 0.5
    assert all(each["low"] <= each["value"] <= each["high"] for each in measures if each["low"] is not None)


def test_excess_is_what_the_baseline_does_not_explain():
    found = [row(0.5, 1, 1, name="a"), row(0.25, 1, 1, name="b"), row(0.1, 1, 1, name="c")]
    public = [row(0.1, 0, 0, name="a"), row(0.3, 0, 0, name="b"), row(None, 0, 0, name="c")]
    measures = summary(found, public, settings())
    assert measures_by(measures, **{"class": "all"}, occurrences=None)["lazy", "excess"] == pytest.approx(0.175)


def test_what_is_missing_is_said():
    with pytest.raises(InputError, match="give it a tagger"):
        run(MarkovLanguageModel(CHAIN), Material(RECORDS), settings(), 0)
    with pytest.raises(InputError, match="no labelled mention"):
        run(MarkovLanguageModel(CHAIN), Material([], tagger=PatternTagger()), settings(), 0)
