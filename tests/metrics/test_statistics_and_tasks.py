from __future__ import annotations

import itertools

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.metrics import (
    category_view,
    completion_nll,
    confusion,
    display_at,
    pass_at,
    pass_at_unbiased,
    pass_rates,
    pearson,
    standardised,
    usd_per_million,
    wilson,
)
from sm_ops.metrics.intervals import score_interval

pytestmark = pytest.mark.unit


def test_pearson_by_hand():
    assert pearson([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert pearson([1e200, 2e200, 3e200], [3e-200, 2e-200, 1e-200]) == pytest.approx(-1.0)
    assert pearson([0.0, 1.0], [5.0, 6.0]) == 1.0


@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [2]), ([0.1] * 3, [1, 2, 3]), ([1, 2, 3], [0.1] * 3)])
def test_pearson_is_undefined_for_one_point_or_without_variance(x, y):
    assert pearson(x, y) is None


def test_standardised_features_weigh_equally():
    # means 2 and 10, population deviations 1 and 10 (not the sample ones)
    got = standardised([[3, 2, 0], [20, 0, 10]], [[1, 3], [0, 20]])
    assert got.tolist() == [1.0, -0.5, -1.0]
    with pytest.raises(InputError, match="Feature 1"):
        standardised([[1], [2]], [[0, 1], [0.1, 0.1, 0.1]])


def test_category_leaves_other_categories_out_unless_they_overlap():
    own = np.array([1, 1, 0, 0, 0, 0], bool)
    other = np.array([0, 1, 1, 0, 0, 0], bool)
    documents = np.array([0, 0, 0, 0, 1, 1])
    assert category_view(own, other).tolist() == [True, True, False, True, True, True]
    assert category_view(own, other, documents).tolist() == [True, True, False, True, False, False]
    view = category_view(own, other, documents)
    counts = confusion(np.ones(6, bool)[view], own[view])
    assert (counts.tp, counts.fp, counts.fn, counts.tn) == (2, 1, 0, 0)
    assert not category_view(np.zeros(3), np.zeros(3), np.zeros(3)).any()


def test_tasks_by_hand():
    assert pass_at([[0, 0, 1], [0, 0, 0], [1, 1, 1]]) == 2 / 3
    assert pass_at([]) is None
    assert display_at({"a": [[1], [0], [0], [0]], "b": [[0, 1]]}) == 0.625
    assert display_at({}) is None
    with pytest.raises(InputError, match="b, c"):
        display_at({"a": [[1]], "b": [], "c": []})


def test_unbiased_pass_at_is_the_share_of_draws_with_a_success():
    rows = [[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1]]
    for k in (1, 2, 3, 4):
        draws = [np.mean([any(draw) for draw in itertools.combinations(row, k)]) for row in rows]
        assert pass_at_unbiased(rows, k) == pytest.approx(np.mean(draws))
    assert pass_at_unbiased(rows, 4) == pytest.approx(pass_at(rows))
    assert pass_at_unbiased([], 5) is None
    with pytest.raises(InputError, match="pass@5 asks for 5 attempts; a prompt has 4"):
        pass_at_unbiased(rows, 5)
    with pytest.raises(InputError, match="pass@0"):
        pass_at_unbiased(rows, 0)


def test_pass_rates_by_family_count_a_task_once_however_it_is_phrased():
    # two phrasings a task: with any of 2 (the first two), a passes by both, b by none, c by one; d's by both
    rows = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1]]
    tasks = [*"aabbccdd"]
    found = pass_rates(rows, tasks, ["sheets"] * 6 + ["text"] * 2, 2)
    sheets, text = found["families"]["sheets"], found["families"]["text"]
    assert (sheets["prompts"], sheets["tasks"], text["prompts"], text["tasks"]) == (6, 3, 2, 1)
    assert found["k"] == 2
    assert sheets["any"]["value"] == 3 / 6
    assert found["all"]["any"]["value"] == 5 / 8
    assert sheets["unbiased"]["value"] == pytest.approx((2 / 3 + 2 / 3 + 2 / 3 + 0 + 1 + 0) / 6)
    # residuals of the tasks 1, -1, 0: variance 3/2 * 2 / 36, so 0.25 / (1/12) = 3 independent observations
    assert (sheets["any"]["low"], sheets["any"]["high"]) == pytest.approx(score_interval(0.5, 3, 0.95))
    assert (text["any"]["value"], text["any"]["high"]) == (1.0, 1.0)
    assert text["any"]["low"] == pytest.approx(wilson(1, 1)[0])  # one task, though it passes twice
    one = pass_rates([[0, 1]] * 2, ["a", "b"], ["x", "x"], 1)["all"]  # unbiased looks at the later attempt too
    assert (one["any"]["value"], one["unbiased"]["value"]) == (0.0, 0.5)
    null = {"value": None, "low": None, "high": None}
    nothing = {"prompts": 0, "tasks": 0, "any": null, "unbiased": null}
    assert pass_rates([], [], [], 5) == {"k": 5, "all": nothing, "families": {}}


def test_completions_weigh_equally():
    assert completion_nll([-4.0, -5.0], [4, 1]) == 3.0
    assert completion_nll([], []) is None
    with pytest.raises(InputError, match="no scored token"):
        completion_nll([-1.0, 0.0], [1, 0])


def test_cost_counts_cached_input_at_its_own_price():
    costs = {"input_price": 5e-6, "cached_price": 5e-7, "output_price": 3e-5}
    tokens = {"source_tokens": 1000, "input_tokens": 3000, "cached_tokens": 1000, "output_tokens": 100}
    # 2000 * 5e-6 + 1000 * 5e-7 + 100 * 3e-5 = 0.0135 dollars for 1000 tokens, and 0.002 for the selector
    assert usd_per_million(**tokens, **costs) == pytest.approx(13.5)
    assert usd_per_million(**tokens, **costs, selector_usd=0.002) == pytest.approx(15.5)
    assert usd_per_million(**{**tokens, "source_tokens": 0}, **costs) is None
