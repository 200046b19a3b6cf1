"""Membership inference: what is scored, what a shadow model saw, what is left out, and what the summary says."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from counting_model import CountingModel

from sm_ops.attacks.material import Material, Shadow
from sm_ops.attacks.members import membership
from sm_ops.attacks.sentences import sentences_of, token_logprobs
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span

pytestmark = pytest.mark.unit

CHARACTERS = "abcdefghijklmnopqrstuvwxyz .ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ALL = SimpleNamespace(sentences=None)


def texts(seed: int, n: int, sentences: int = 3) -> list[str]:
    rng = np.random.default_rng(seed)
    word = lambda: "".join(rng.choice(list("abcdefghij"), rng.integers(3, 7)))  # noqa: E731
    return [". ".join(" ".join(word() for _ in range(5)) for _ in range(sentences)) + "." for _ in range(n)]


def records(prefix: str, contents: list[str]) -> list[Record]:
    return [Record(f"{prefix}{n}", text=each, spans=(Span(0, 3, "PERSON"),)) for n, each in enumerate(contents)]


MEMBERS, OTHERS, POPULATION = (records(name, texts(seed, 12)) for seed, name in enumerate("mop"))
MODEL = CountingModel(CHARACTERS, [each.content for each in MEMBERS])
PUBLIC = CountingModel(CHARACTERS, [each.content for each in POPULATION])
MATERIAL = Material(records=MEMBERS, others=OTHERS)


def attack(material: Material = MATERIAL, model: CountingModel = MODEL, settings=ALL, seed: int = 0) -> list[dict]:
    return membership.run(model, material, settings, seed)


def only(measures: list[dict], **labels) -> dict:
    (found,) = [each for each in measures if all(each.get(name) == value for name, value in labels.items())]
    return found


# ---- sentences and their likelihood --------------------------------------------------------------------


def test_sentences_carry_their_name_and_whether_they_hold_a_mention():
    record = Record(
        "r7", text="Mr Ada left. Bea wrote.\nNobody else", spans=(Span(13, 16, "PERSON"), Span(21, 24, "X"))
    )
    found = [(each.case, each.record, each.mention) for each in sentences_of([record])]
    assert found == [("r7/0", "r7", False), ("r7/1", "r7", True), ("r7/2", "r7", False)]
    assert "Ada" not in repr(sentences_of([record]))


def test_likelihood_is_that_of_all_tokens_behind_the_prefix():
    model = CountingModel("ab", ["ab"], order=1)  # V = 3; after the prefix a was seen once, after a b
    (found,) = token_logprobs(model, ["aba"])
    assert found == pytest.approx(np.log([2 / 4, 2 / 4, 1 / 3]))
    without = CountingModel("ab", ["ab"], order=1, bos=False)  # V = 2
    found = token_logprobs(without, ["aba", "b", ""])
    assert found[0] == pytest.approx(np.log([2 / 3, 1 / 2]))
    assert [len(each) for each in found] == [2, 0, 0]


@pytest.mark.parametrize("bos", [True, False])
def test_what_is_longer_than_the_context_goes_on_in_windows(bos):
    """Half a context is more than the model looks back, so windows must not change a number."""
    long = texts(9, 1, sentences=4)[0]
    wide, narrow = (CountingModel(CHARACTERS, [long[:40]], context=context, bos=bos) for context in (1000, 12))
    (expected,), (found,) = (token_logprobs(model, [long]) for model in (wide, narrow))
    assert len(found) == len(long) - (not bos)
    assert found == pytest.approx(expected)
    assert max(narrow.asked) < 12


# ---- rows ----------------------------------------------------------------------------------------------


def test_a_row_for_each_sentence_without_its_text():
    rows = attack()
    assert len(rows) == 2 * 12 * 3
    row = next(row for row in rows if row["case"] == "m4/1")
    text = sentences_of(MEMBERS)[4 * 3 + 1].text
    assert row["phi"] == pytest.approx(token_logprobs(MODEL, [text])[0].mean())
    assert (row["member"], row["mention"], row["tokens"], row["occurrences"]) == (True, False, len(text), 1)
    written = json.dumps(rows)
    assert not any(each.text in written for each in sentences_of([*MEMBERS, *OTHERS]))


def test_a_sentence_of_both_sides_is_left_out_and_counted():
    shared = Record("o99", text=OTHERS[0].content + " " + MEMBERS[0].content)
    rows = attack(Material(records=[*MEMBERS, Record("m99", text=MEMBERS[1].content)], others=[shared, *OTHERS[1:]]))
    left = [row for row in rows if row["left_out"]]
    assert {row["case"] for row in left} == {f"m0/{n}" for n in range(3)} | {f"o99/{n}" for n in range(3, 6)}
    assert all(row["phi"] is None for row in left)
    assert [row["occurrences"] for row in rows if row["record"] in ("m1", "m99")] == [2] * 6
    told = only(membership.summary(rows, None, ALL), measure="left_out", variant=left[0]["left_out"])
    assert (told["hits"], told["n"]) == (6, 36 + 36 + 6)


def test_of_drawn_sentences_those_of_both_sides_are_counted_among_the_drawn():
    shared = [Record(f"o{n}", text=each.content) for n, each in enumerate(MEMBERS[:6])]  # half of either side
    settings = SimpleNamespace(sentences=30)
    rows = attack(Material(records=MEMBERS, others=[*shared, *OTHERS[6:]]), settings=settings)
    both = "its text is among members and others"
    told = only(membership.summary(rows, None, settings), measure="left_out", variant=both)
    assert told["n"] == len(rows) == 60
    assert told["low"] < 0.5 < told["high"]


def test_a_sentence_without_a_scored_token_is_left_out():
    model = CountingModel(CHARACTERS, bos=False)
    rows = attack(Material(records=[Record("m", text="A. Ab c.")], others=[Record("o", text="Q\nxyz")]), model)
    assert [(row["case"], row["left_out"] is None) for row in rows] == [
        ("m/0", True),
        ("m/1", True),
        ("o/0", False),
        ("o/1", True),
    ]
    assert only(membership.summary(rows, None, ALL), measure="auc", occurrences=None, variant="all")["others"] == 1


def test_shadow_models_saw_a_sentence_wherever_they_saw_its_text():
    twin = Record("p0", text=MEMBERS[3].content)  # the same sentences in a record of another name
    shadows = [
        Shadow(CountingModel(CHARACTERS, [each.content for each in own]), frozenset(each.id for each in own))
        for own in ([*MEMBERS[:2], *POPULATION[1:4]], [*OTHERS[:2], *POPULATION[4:8]], [*POPULATION[8:], twin])
    ]
    rows = attack(Material(records=[*MEMBERS, twin], others=OTHERS, shadows=shadows))
    by_case = {row["case"]: row["scores"] for row in rows}

    def phis(case: str) -> list[float]:
        own = next(each.text for each in sentences_of([*MEMBERS, *OTHERS]) if each.case == case)
        return [float(token_logprobs(each.model, [own])[0].mean()) for each in shadows]

    mine = {row["case"]: row["phi"] for row in rows}
    for case, seen in (("m0/1", [0]), ("m3/2", [2]), ("o1/0", [1]), ("m7/0", [])):
        outside = [phi for number, phi in enumerate(phis(case)) if number not in seen]
        assert by_case[case]["ref"] == pytest.approx(mine[case] - np.mean(outside))
        assert by_case[case]["offline"] == pytest.approx((mine[case] - np.mean(outside)) / np.std(outside))
        assert (by_case[case]["lira"] is None) == (seen == [])
    undefined = only(membership.summary(rows, None, ALL), measure="undefined", score="lira")
    assert undefined["hits"] == sum(row["scores"]["lira"] is None for row in rows)
    with pytest.raises(InputError, match="share record ids"):
        attack(Material(records=MEMBERS, others=MEMBERS, shadows=shadows))


def test_scores_of_the_specification_by_hand():
    """phi -1; without it -2 and -3 (mean -2.5, deviation 0.5), with it -9 alone (deviation floored at 1e-6)."""
    found = membership.scores(np.array([-1.0]), np.array([[-2.0], [-3.0], [-9.0]]), np.array([[0], [0], [1]], bool))
    assert found["offline"] == pytest.approx([3.0])
    within = -0.5 * (8 / 1e-6) ** 2 - math.log(1e-6)
    assert found["lira"] == pytest.approx([within - (-0.5 * 3**2 - math.log(0.5))])


def test_draws_do_not_depend_on_the_order_of_records():
    settings = SimpleNamespace(sentences=10)
    one = attack(settings=settings)
    other = attack(Material(records=MEMBERS[::-1], others=OTHERS[::-1]), settings=settings)
    by_case = lambda rows: sorted(rows, key=lambda row: row["case"])  # noqa: E731
    assert by_case(one) == by_case(other)
    assert [sum(row["member"] == side for row in one) for side in (True, False)] == [10, 10]
    assert {row["case"] for row in one} != {row["case"] for row in attack(settings=settings, seed=1)}
    assert membership.summary(one, None, settings) == membership.summary(other, None, settings)


def test_without_others_there_is_no_attack():
    with pytest.raises(InputError, match="never saw"):
        attack(Material(records=MEMBERS))


# ---- the summary ---------------------------------------------------------------------------------------


def row(member: bool, record: str, number: int, phi: float, **rest) -> dict:
    plain = {"class": None, "mention": False, "occurrences": int(member), "left_out": None}
    return {
        **plain,
        "member": member,
        "record": record,
        "case": f"{record}/{number}",
        "phi": phi,
        "scores": {"loss": phi},
        **rest,
    }


def test_measures_by_hand():
    rows = [
        row(True, "a", 0, -1.0, mention=True),
        row(True, "a", 1, -3.0, occurrences=3),
        row(True, "b", 0, -2.0, occurrences=4),
    ]
    rows += [row(False, "c", 0, -2.0, mention=True), row(False, "c", 1, -4.0), row(False, "d", 0, -5.0)]
    measures = membership.summary(rows, None, ALL)
    auc = only(measures, measure="auc", variant="all", occurrences=None)
    assert auc["value"] == pytest.approx((3 + 2 + 2.5) / 9)
    assert auc["low"] < auc["value"] < auc["high"]
    assert (auc["members"], auc["others"], auc["interval"], auc["score"]) == (3, 3, "delong", "loss")
    assert only(measures, measure="auc", variant="with a mention")["value"] == 1.0
    assert only(measures, measure="auc", variant="without a mention")["value"] == 1.0
    assert only(measures, measure="auc", occurrences="3-4")["value"] == pytest.approx((2 + 2.5) / 6)
    rate = only(measures, measure="tpr_at_fpr_0.01", variant="all", occurrences=None)
    assert (rate["value"], rate["hits"], rate["n"], rate["too_few"]) == (pytest.approx(1 / 3), 1, 3, True)
    assert {each["class"] for each in measures} == {"all"}
    many = [*rows, *(row(False, f"e{n}", 0, -6.0) for n in range(97))]
    enough, too_few, one_short = (
        only(membership.summary(own, None, ALL), measure=f"tpr_at_fpr_{most}", variant="all", occurrences=None)
        for own, most in ((many, 0.01), (many, 0.001), (many[:-1], 0.01))
    )
    assert (enough["value"], enough["hits"], enough["too_few"]) == (1.0, 3, False)  # one of 100 passes with -3
    assert (too_few["value"], too_few["hits"], too_few["too_few"]) == (pytest.approx(1 / 3), 1, True)
    assert one_short["too_few"]


def test_a_rate_that_resamples_do_not_move_has_the_interval_of_its_records():
    rows = [row(True, f"a{n % 2}", n, -1.0) for n in range(6)] + [row(False, f"b{n}", 0, -2.0) for n in range(6)]
    rate = only(membership.summary(rows, None, ALL), measure="tpr_at_fpr_0.01", variant="all", occurrences=None)
    assert (rate["value"], rate["high"], rate["interval"]) == (1.0, 1.0, "wilson")
    assert rate["low"] == pytest.approx(2 / (2 + 3.841459))


def test_the_public_model_takes_out_how_hard_a_sentence_is():
    rows = [
        row(True, "a", 0, -5.0),
        row(True, "b", 0, -2.0),
        row(False, "c", 0, -3.0),
        row(False, "d", 0, -1.0),
        row(False, "e", 0, -1.0),
    ]
    public = [row(True, "a", 0, -9.0), row(True, "b", 0, -6.0), row(False, "c", 0, -3.5), row(False, "d", 0, -1.0)]
    measures = membership.summary(rows, public, ALL)
    assert only(measures, measure="auc", score="loss", variant="all", occurrences=None)["value"] == pytest.approx(1 / 6)
    assert only(measures, measure="auc", score="ref_baseline", variant="all", occurrences=None)["value"] == 1.0
    assert only(measures, measure="undefined", score="ref_baseline")["hits"] == 1


def test_it_tells_members_from_others_and_says_nothing_of_a_model_that_saw_neither():
    settings = SimpleNamespace(sentences=30)
    baseline = attack(model=PUBLIC, settings=settings)
    leaky = membership.summary(attack(settings=settings), baseline, settings)
    for score in ("loss", "ref_baseline"):
        assert only(leaky, **{**membership.HEADLINE, "score": score}, occurrences=None)["value"] > 0.9
    blind = only(membership.summary(baseline, None, settings), **membership.HEADLINE, occurrences=None)
    assert blind["low"] < 0.5 < blind["high"]
