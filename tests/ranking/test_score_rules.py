"""Score rules of whole outputs, by hand: what each feature is, and what is standardised on what."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.core.registry import members
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.ranking.scoring import parameters, score

pytestmark = pytest.mark.unit

INF = float("-inf")


def scored(record: Record, logprobs: list[float], violating: list[float] | None = None) -> Scored:
    """A token a character."""
    places = np.arange(len(record.content))
    supervised = np.zeros(len(places), bool)
    for start, end in record.supervised_intervals:
        supervised[start:end] = True
    tokens = Tokens(places, places, places + 1, np.zeros(len(places), bool), supervised)
    second = None if violating is None else np.array(violating)
    return Scored(record.id, record.group, tokens, np.array(logprobs), second)


def features(rule: str, *outputs: tuple[Record, Scored]) -> dict[str, list[float]]:
    records, own = zip(*outputs, strict=True)
    found = registry.load("ranking", rule).features(records, own)
    return {name: values.tolist() for name, values in found.items()}


def text(content: str, *values: list[float]) -> tuple[Record, Scored]:
    record = Record("r", text=content)
    return record, scored(record, *values)


def test_mean_nll_is_of_the_answer_alone():
    chat = Record("c", messages=(Message("user", "ab"), Message("assistant", "xyz")))
    own = scored(chat, [-9.0, -9.0, -9.0, -1.0, -2.0, -6.0])
    assert features("mean_nll", (chat, own), text("ab", [-1.0, -2.0])) == {"mean_nll": [3.0, 1.5]}


def test_an_output_with_a_token_that_has_no_score_ranks_below_all():
    assert features("mean_nll", text("ab", [-1.0, float("nan")])) == {"mean_nll": [INF]}


def test_the_windows_answer_is_its_most_surprising_64_tokens():
    values = [-0.5] * 100
    values[20:84] = [-2.0] * 64
    values[90] = -3.0
    windows = [-sum(values[start : start + 64]) / 64 for start in range(37)]
    assert max(windows) == 2.0
    assert features("prompted_window64", text("x" * 100, values)) == {"prompted_window64": [2.0]}


def test_an_answer_shorter_than_a_window_is_one():
    assert features("prompted_window64", text("x" * 4, [-1.0, -2.0, -3.0, -6.0])) == {"prompted_window64": [3.0]}
    exact = [-1.0] * 63 + [-65.0]
    assert features("prompted_window64", text("x" * 64, exact)) == {"prompted_window64": [2.0]}
    longer = [-1.0, *exact]
    assert features("prompted_window64", text("x" * 65, longer)) == {"prompted_window64": [2.0]}


def test_zscore_mean_has_a_prompt_change_and_the_worst_line():
    compliant = [-1.0, -3.0, 0.0, -5.0, -7.0]
    violating = [-0.5, -1.5, 0.0, -5.0, -4.5]
    found = features("zscore_mean", text("ab\ncd", compliant, violating))
    assert found == {"prompt_change": [pytest.approx(0.9)], "line_nll": [6.0]}


def test_each_feature_counts_in_validation_deviations_and_these_are_kept():
    validation = {"a": np.array([1.0, 3.0, 1.0, 3.0]), "b": np.array([0.0, 0.0, 10.0, 10.0])}
    assert score(validation, validation).tolist() == [-1.0, 0.0, 0.0, 1.0]
    other = {"a": np.array([4.0, 2.0]), "b": np.array([5.0, 25.0])}
    assert score(other, validation).tolist() == [1.0, 2.0]
    assert parameters(validation) == {"a": {"mean": 2.0, "deviation": 1.0}, "b": {"mean": 5.0, "deviation": 5.0}}


def test_an_undefined_feature_ranks_below_all_and_teaches_nothing():
    validation = {"a": np.array([1.0, 3.0, INF]), "b": np.array([0.0, 10.0, 5.0])}
    assert score(validation, validation).tolist()[:2] == [
        pytest.approx((-1 - 1.224744871) / 2),
        pytest.approx(1.112372),
    ]
    assert score(validation, validation)[2] == INF


def test_one_feature_is_the_score_itself():
    only = {"a": np.array([5.0, -2.0])}
    assert score(only, {"a": np.array([0.0, 0.0])}).tolist() == [5.0, -2.0]
    assert parameters(only) is None


def test_a_feature_that_does_not_vary_is_refused():
    constant = {"a": np.array([1.0, 1.0]), "b": np.array([0.0, 1.0])}
    with pytest.raises(InputError, match="does not vary"):
        score(constant, constant)


@pytest.mark.parametrize("rule", members("ranking"))
def test_a_higher_feature_means_more_surprise_and_order_does_not_count(rule):
    """The direction of every rule: what is less likely, and gains more by the violating prompt, is riskier."""
    rng = np.random.default_rng(0)
    outputs = []
    for size in (5, 70, 130):
        compliant = -rng.exponential(size=size)
        violating = compliant + rng.normal(size=size)
        outputs.append(text(("ab\ncd " * 30)[:size], compliant.tolist(), violating.tolist()))
    riskier = [(record, scored(record, (own.logprobs - 1).tolist(), own.violating.tolist())) for record, own in outputs]
    plain, more = features(rule, *outputs), features(rule, *riskier)
    assert all(np.isfinite(values).all() for values in plain.values())
    assert all((np.array(more[name]) > np.array(plain[name])).all() for name in plain)
    backwards = features(rule, *outputs[::-1])
    assert {name: values[::-1] for name, values in backwards.items()} == plain
