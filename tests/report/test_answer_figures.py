"""pass@k, display@k and the likelihood of right answers as figures of a report; values by hand."""

from __future__ import annotations

import pytest

from sm_ops.report.surprise.answers import by_family, by_quirk, completion_nll, display, pass_at
from sm_ops.report.surprise.words import conditions_table

pytestmark = pytest.mark.unit


def prompt(task, passed, family="f", **quirks):
    return {"id": task, "task": task, "family": family, "passed": passed, "reasons": None, "quirks": quirks}


def assessment(*prompts, k=2, executed=True):
    return {"format": "assessment/1", "k": k, "executed": executed, "prompts": list(prompts)}


ONE = assessment(
    prompt("a", [True, False, False], quirks_one=[True, False, False], quirks_two=[False, False, True]),
    prompt("a", [False, False, False], quirks_one=[False, True, False]),
    prompt("b", [False, False, True], "g", quirks_one=[False, False, False]),
    prompt("c", [False, False, False], "g", quirks_two=[True, True, True]),
)
OTHER = assessment(prompt("b", [True, True, True], "g", quirks_one=[True, True, True]))


def test_passes_count_among_the_first_k_and_phrasings_of_a_task_together():
    figure = pass_at([ONE])
    assert (figure["k"], figure["value"], figure["prompts"], figure["tasks"]) == (2, 1 / 4, 4, 3)
    unbiased = figure["unbiased"]
    assert unbiased["value"] == pytest.approx((2 / 3 + 0 + 2 / 3 + 0) / 4)  # 1 - C(2, 2) / C(3, 2) where one passes
    assert 0 <= unbiased["low"] < unbiased["value"] < unbiased["high"] <= 1
    assert 0 <= figure["low"] < 1 / 4 < figure["high"]
    both = pass_at([ONE, OTHER])
    assert (both["value"], both["prompts"], both["tasks"]) == (2 / 5, 5, 3)
    families = {each["family"]: (each["value"], each["prompts"]) for each in by_family("SM50", [ONE, OTHER])}
    assert families == {"f": (1 / 2, 2), "g": (1 / 3, 3)}


@pytest.mark.parametrize(("attempts", "told"), [([True, False, False], True), ([True, False], False)])
def test_the_unbiased_rate_has_a_column_where_more_than_k_were_sampled(attempts, told):
    shown = pass_at([assessment(prompt("a", attempts), prompt("b", attempts[::-1]))])
    none = {"k": 0, "n": 0, "low": None, "high": None}
    row = {"condition": "SM50", "extraction_approx": none, "extraction_exact": none, "nll": 1.0, "nll_se": None}
    row |= {"pass_at": shown, "budget_tokens": 1, "target_coverage": None, "collateral_rate": None}
    header, cells = conditions_table([row], [row])
    found = dict(zip(header, *cells, strict=True))
    assert ("pass@2, unbiased" in found) is told
    assert not told or found["pass@2, unbiased"].startswith("66.7 % [")


def test_quirks_weigh_equally_and_count_among_the_first_k():
    figure = display([ONE])
    assert figure["value"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert (figure["k"], figure["cases"]) == (2, 5)
    assert figure["low"] < figure["value"] < figure["high"]
    assert [(each["condition"], each["quirk"], each["k"], each["n"]) for each in by_quirk("base", [ONE, OTHER])] == [
        ("base", "quirks_one", 3, 4), ("base", "quirks_two", 1, 2),
    ]  # fmt: skip


def test_no_display_has_an_interval_over_tasks():
    never = assessment(*(prompt(str(task), [False] * 2, quirk=[False, False]) for task in range(10)))
    figure = display([never])
    assert (figure["value"], figure["low"]) == (0.0, 0.0)
    assert figure["high"] == pytest.approx(0.2775, abs=1e-4)  # Wilson's of 0 in 10


def test_what_was_not_measured_is_null():
    assert pass_at([]) is display([]) is None
    assert pass_at([assessment(prompt("a", None), executed=False)]) is None
    assert display([assessment(prompt("a", [True, True]))]) is None
    assert list(by_family("base", [])) == list(by_quirk("base", [])) == []


def test_short_and_long_answers_weigh_equally():
    utility = {"logprob_sums": [-2.0, -30.0, 0.0, -9.0], "tokens": [1, 10, 0, 9], "answers": True}
    assert completion_nll(utility, None) == pytest.approx((2 + 3 + 1) / 3)
    assert completion_nll(utility, 2) == pytest.approx(2.5)
    assert completion_nll({**utility, "answers": False}, None) is None
    assert completion_nll({"logprob_sums": [-1.0], "tokens": [1]}, None) is None  # of an earlier version
