"""Budgets, replacements, costs and the crossing point, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.records import Record, Span
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.detectors.detector import Detection
from sm_ops.rewriting import applying, prompts
from sm_ops.rewriting.costs import crossing, source_tokens, usd
from sm_ops.rewriting.endpoint import Answer
from sm_ops.rewriting.measures import rat, redac
from sm_ops.rewriting.scores import by_chance, by_detector, by_surprise
from sm_ops.rewriting.selection import by_itself, chosen, quantile, separation, together

pytestmark = pytest.mark.unit

PRICES = {"input": 5.0, "cached": 0.5, "output": 30.0}


def answers(*texts: str) -> list[Answer]:
    return [Answer(text, 1, 0, 1) for text in texts]


def units(*scores: float | None) -> list[list[tuple[int, int, float | None]]]:
    return [[(10 * at, 10 * at + 5, score) for at, score in enumerate(scores)]]


@pytest.mark.parametrize(
    ("budget", "tau"),
    [(0.25, 4.0), (0.3, 4.0), (0.5, 3.0), (1.0, 1.0), (0.01, 4.0)],
)
def test_a_budget_is_a_share_of_validation_units(budget, tau):
    assert quantile(np.array([1.0, 4.0, 3.0, 2.0]), budget) == tau


def test_ties_at_the_top_are_taken_whole_and_unscored_units_never():
    assert quantile(np.array([1.0, 1.0, 1.0, -np.inf]), 0.25) == 1.0
    assert quantile(np.array([2.0, 1.0, 1.0, 1.0]), 0.5) == 2.0
    assert quantile(np.array([-np.inf, -np.inf]), 0.5) is None
    nothing = chosen(units(None, None), units(None), 0.5, False)
    assert (nothing["tau"], nothing["chosen"], nothing["share"]["application"]) == (None, 0, 0.0)


def test_thresholds_are_of_validation_unless_they_are_called_retrospective():
    validation, application = units(1.0, 2.0, 3.0, 4.0), units(3.5, 5.0, 6.0, 7.0)
    before = chosen(validation, application, 0.5, False)
    assert (before["tau"], before["chosen"], before["share"]) == (3.0, 4, {"validation": 0.5, "application": 1.0})
    after = chosen(validation, application, 0.5, True)
    assert (after["tau"], after["retrospective"], after["intervals"]) == (6.0, True, [[(20, 25), (30, 35)]])


def test_two_selectors_together_rank_a_unit_by_its_larger_validation_rank():
    one = (units(1.0, 2.0, 3.0, 4.0), units(2.5, 9.0))
    other = (units(None, None, None, 0.9), units(None, 0.9))
    validation, application = together([one, other])
    assert [score for _, _, score in validation[0]] == [0.0, 0.25, 0.5, 0.75]
    assert [score for _, _, score in application[0]] == [0.5, 1.0]
    assert together([other, other])[0][0][0][2] is None


def test_units_get_the_score_that_stands_in_them():
    record = Record("r", "Ann left. Bob, who is ill, stayed.")
    found = by_detector([record], _Finds([Detection(0, 3, "NAME", 0.4), Detection(10, 13, "NAME", 0.9)]))
    assert [(record.content[a:b], score) for a, b, score in found["sentence"][0]] == [
        ("Ann left.", 0.4), ("Bob, who is ill, stayed.", 0.9),
    ]  # fmt: skip
    assert [score for _, _, score in found["segment"][0]] == [0.4, 0.9, None, None]
    assert by_itself(found | {})["intervals"] == [[(0, 3), (10, 13)]]


def test_surprise_of_a_unit_is_the_mean_or_the_top_three_of_its_tokens():
    record = Record("r", "a b c d. e")
    scored = Scored("r", None, _tokens([(0, 1), (2, 3), (4, 5), (6, 7), (9, 10)]), -np.array([1.0, 2.0, 3.0, 4.0, 8.0]))
    top = by_surprise([record], lambda records: [scored], {"sentence": "top", "segment": "mean"})
    assert [score for _, _, score in top["sentence"][0]] == [3.0, 8.0]
    assert [score for _, _, score in top["segment"][0]] == [2.5, 8.0]


def test_chance_depends_on_seed_and_place_alone():
    record, other = Record("r", "One. Two. Three."), Record("s", "One. Two. Three.")
    table = by_chance([record, other], 1)
    assert by_chance([other, record], 1)["sentence"] == table["sentence"][::-1]
    assert by_chance([record], 2)["sentence"] != table["sentence"][:1]
    scores = [score for _, _, score in table["sentence"][0]]
    assert all(0 <= score < 1 for score in scores)


def test_sentences_with_private_content_are_the_targets_of_the_separation():
    records = [Record(f"r{n}", "One. Two.", group=f"g{n}", spans=(Span(0, 3, "X"),)) for n in range(3)]
    scores = [[(0, 4, 2.0), (5, 9, 1.0)], [(0, 4, 3.0), (5, 9, 3.0)], [(0, 4, 0.5), (5, 9, 4.0)]]
    found = separation(records, scores)
    assert found is not None
    # wins of 2, 3, 0.5 against 1, 3, 4: 1; 1 and a tie; none
    assert found["auroc"]["value"] == pytest.approx((1 + 1.5 + 0) / 9)
    assert separation([Record("r", "One.")], [[(0, 4, 1.0)]]) is None


def test_masks_and_routed_sentences_change_nothing_else():
    records = [Record("r", "Ann is ill. It rains. Bob left.", spans=(Span(0, 3, "X"),)), Record("s", "Quiet.")]
    assert applying.masked(records, [[(12, 21), (0, 11)], []]).texts == ["[MASKED] [MASKED] Bob left.", "Quiet."]
    seen = []

    def ask(calls):
        seen.extend(calls)
        return answers(" Somebody is unwell.\n", "He left.")

    made = applying.routed(records, [[(0, 11), (22, 31)], []], lambda record: "goal", ask)
    assert made.texts == ["Somebody is unwell. It rains. He left.", "Quiet."]
    assert [call.texts[1] for call in seen] == ["Ann is ill.", "Bob left."]
    assert all("<sentence>\nBob left.\n</sentence>" in call.messages[-1]["content"] for call in seen[1:])


def test_exact_spans_are_replaced_everywhere_the_longest_first_and_misquotes_counted():
    records = [Record("r", "Ann Lee met Ann. Ann Lee left."), Record("s", "Bob."), Record("t", "Cid.")]
    lists = answers(
        '[{"span": "Ann", "replacement": "X"}, {"span": "Ann Lee", "replacement": "Y"}, {"span": "Dan"}]',
        "nothing to do", '[{"span": "Cid"}]',
    )  # fmt: skip
    made = applying.rewritten(records, "exact_span", lambda record: "goal", lambda calls: lists, _no_detector)
    assert made.texts == ["Y met X. Y left.", "Bob.", "."]
    assert (made.unreadable, made.misquoted, len(made.answers)) == (1, 1, 3)


def test_an_audit_sees_the_rewriting_and_patterns_see_what_it_left():
    asked = []

    def ask(calls):
        asked.append(calls)
        if len(asked) == 1:
            return answers("Somebody, Lee, at 555.")
        return answers('[{"span": "Lee", "replacement": "a person"}]')

    def regex():
        return _Finds([Detection(23, 26, "NUMBER", 1.0)])

    made = applying.rewritten([Record("r", "Ann Lee at 555.")], "audit", lambda record: "goal", ask, regex)
    assert "Somebody, Lee, at 555." in asked[1][0].messages[-1]["content"]
    assert asked[1][0].texts == ("Somebody, Lee, at 555.",)
    assert made.texts == ["Somebody, a person, at [MASKED]."[:23] + "[MASKED]."]
    assert len(made.answers) == 2


@pytest.mark.parametrize("style", prompts.STYLES)
def test_every_style_holds_the_goal_and_the_text(style):
    messages = prompts.whole(style, "the goal", "the text")
    assert [messages[0]["role"], messages[-1]["role"]] == ["system", "user"]
    assert messages[-1]["content"].startswith("the goal\n\n<text>\nthe text\n</text>")
    assert len(messages) == (4 if style == "one_example" else 2)


def test_costs_follow_the_formula_of_the_paper():
    # 1,402 calls of routing RedacBench, without cached tokens and selector: 41.75 USD a million of 135,404 tokens
    usage = {"calls": 1402, "input_tokens": 789_669, "cached_tokens": 0, "output_tokens": 56_832}
    assert usd(usage, PRICES, 135_404, 0.0) == pytest.approx((789_669 * 5 + 56_832 * 30) / 135_404)
    half = usage | {"cached_tokens": 400_000}
    assert usd(half, PRICES, 135_404, 1.0) == pytest.approx(
        (389_669 * 5 + 400_000 * 0.5 + 56_832 * 30 + 1e6) / 135_404
    )
    assert usd(usage | {"input_tokens": None}, PRICES, 135_404, 0.0) is None
    assert source_tokens("It's 4 p.m., Ann.") == 11


def test_routing_crosses_a_full_rewrite_where_its_calls_reach_its_cost():
    route = {"condition": "route", "usd": 42.0, "selector_usd": 2.0, "calls": 200, "units": 1000}
    full = {"condition": "full", "usd": 37.0, "selector_usd": 0.0, "calls": 100, "units": None}
    found = crossing(route, full)
    assert found is not None
    assert (found["share"], found["calls"], found["dearer"]) == (pytest.approx(0.175), pytest.approx(175), True)
    cheap = crossing(route | {"usd": 4.0}, full)
    assert cheap is not None
    assert (cheap["share"], cheap["dearer"]) == (pytest.approx(3.5), False)
    assert crossing(route | {"calls": 0}, full) is None
    assert crossing(route | {"usd": None}, full) is None


def test_security_counts_what_was_judged_by_identity():
    records = [Record(f"r{n}", "x", group=f"g{n // 2}") for n in range(5)]
    outcome = {"direct": 1, "indirect": 2, "attributes": 9}
    outcomes = [outcome | {"identified": each} for each in (True, False, False, False)]
    found = rat(records, [*outcomes, None])
    assert (found["security"]["k"], found["security"]["n"], found["unjudged"]) == (3, 4, 1)
    assert found["attributes"] == {"right": 12, "of": 36}
    assert found["security"]["low"] < 0.75 < found["security"]["high"]
    assert rat(records[:1], [None])["security"]["value"] is None


def test_propositions_are_pooled_over_documents():
    propositions = [{"text": "x", "label": "ambiguous", "supported": True}]
    records = [Record(f"r{n}", "x", group=f"r{n}", meta={"propositions": propositions}) for n in range(2)]
    outcomes = [
        {"removed": 3, "sensitive": 4, "kept": 1, "nonsensitive": 1},
        {"removed": 0, "sensitive": 1, "kept": 1, "nonsensitive": 2},
    ]
    found = redac(records, outcomes)
    assert (found["security"]["value"], found["utility"]["value"]) == (pytest.approx(3 / 5), pytest.approx(2 / 3))
    assert found["excluded"] == {"ambiguous": 2}


class _Finds:
    def __init__(self, found):
        self.found = found

    def detect(self, texts):
        return [self.found for _ in texts]


def _no_detector():
    raise AssertionError("no pattern is asked for")


def _tokens(offsets):
    starts, ends = np.array(offsets).T
    flags = np.ones(len(offsets), bool)
    return Tokens(np.arange(len(offsets)), starts, ends, ~flags, flags)
