from __future__ import annotations

from itertools import product
from math import inf, log

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.scoring.decoding import span_logprob, step_logprobs

pytestmark = pytest.mark.unit

HALVES = np.log([[0.5, 0.25, 0.125, 0.125]])


def row(logits: np.ndarray, **decoding: float) -> list[float]:
    """The probabilities of all tokens at one step."""
    size = logits.shape[1]
    return np.exp(step_logprobs(np.repeat(logits, size, axis=0), np.arange(size), **decoding)).tolist()


@pytest.mark.parametrize(
    ("decoding", "expected"),
    [
        ({}, [1 / 2, 1 / 4, 1 / 8, 1 / 8]),
        ({"temperature": 0.5}, [32 / 44, 8 / 44, 2 / 44, 2 / 44]),  # squares 1/4, 1/16, 1/64, 1/64
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_k": 3}, [1 / 2, 1 / 4, 1 / 8, 1 / 8]),  # the fourth ties with the third
        ({"top_k": 9}, [1 / 2, 1 / 4, 1 / 8, 1 / 8]),
        ({"top_p": 0.5}, [1, 0, 0, 0]),
        ({"top_p": 0.51}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_p": 0.8}, [1 / 2, 1 / 4, 1 / 8, 1 / 8]),  # the nucleus ends in a tie
        ({"top_k": 2, "top_p": 0.6}, [1, 0, 0, 0]),  # 2/3 of what top-k left
        ({"temperature": 0.5, "top_p": 0.75}, [32 / 40, 8 / 40, 0, 0]),
        ({"temperature": 0.0}, [1, 0, 0, 0]),
    ],
)
def test_one_step_by_hand(decoding, expected):
    assert row(HALVES, **decoding) == pytest.approx(expected, abs=1e-12)


def test_tied_maxima_share_the_mass_at_temperature_0():
    logits = np.array([[3.0, 1.0, 3.0, 3.0]])
    assert row(logits, temperature=0.0) == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])
    assert row(logits, temperature=0.0, top_k=1, top_p=0.1) == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])
    cold = row(logits, temperature=1e-3)
    assert cold == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3])  # the limit


def test_a_span_is_the_sum_of_its_steps_and_impossible_if_one_is():
    logits = np.repeat(HALVES, 2, axis=0)
    assert step_logprobs(logits, np.array([0, 1])).sum() == pytest.approx(log(1 / 8))
    assert step_logprobs(logits, np.array([0, 3]), top_k=2).sum() == -inf
    assert step_logprobs(np.zeros((0, 4)), np.zeros(0)).tolist() == []


def test_the_paper_formula_for_temperature():
    """ln q_T = ln p / T - sum of ln Z_T (G.2)."""
    rng = np.random.default_rng(25)
    for _ in range(50):
        logits, temperature = rng.normal(0, 3, (5, 11)), float(rng.uniform(0.1, 3))
        targets = rng.integers(0, 11, 5)
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        expected = np.log(p[np.arange(5), targets]).sum() / temperature
        expected -= np.log((p ** (1 / temperature)).sum(axis=1)).sum()
        assert step_logprobs(logits, targets, temperature=temperature).sum() == pytest.approx(expected)


def test_shifted_and_huge_logits_do_not_matter():
    logits = np.array([[1e4, 1e4 - 1, -1e4, -inf]])
    assert row(logits) == pytest.approx(row(logits - 1e4))
    assert row(logits)[3] == 0
    assert row(logits, top_p=1 - 1e-12)[3] == 0


@pytest.mark.parametrize(
    "bad",
    [{"temperature": -1.0}, {"temperature": inf}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.1}, {"top_p": np.nan}],
)
def test_what_is_no_decoding_is_refused(bad):
    with pytest.raises(InputError, match="Decoding needs"):
        step_logprobs(HALVES, np.array([0]), **bad)


def test_logits_that_are_no_numbers_are_refused():
    for value in (np.nan, inf):
        with pytest.raises(InputError, match="no numbers"):
            step_logprobs(np.array([[value, 1.0]]), np.array([0]))


class Chain:
    """A model whose next-token logits depend on the last id alone."""

    device = "cpu"

    def __init__(self, table: np.ndarray) -> None:
        self.table = table

    def __call__(self, ids, use_cache=False):
        import torch
        from transformers.modeling_outputs import CausalLMOutput

        return CausalLMOutput(logits=torch.tensor(self.table, dtype=torch.float32)[ids])


DECODINGS = [{}, {"temperature": 0.6}, {"top_k": 2}, {"top_p": 0.7}, {"temperature": 1.7, "top_k": 3, "top_p": 0.8}]


@pytest.mark.parametrize("decoding", DECODINGS)
def test_spans_are_drawn_as_often_as_said(decoding):
    """All spans of length 3 over 4 tokens: chances sum to one, and transformers' own warpers draw that often."""
    import torch
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    model = Chain(np.random.default_rng(26).normal(0, 1.5, (4, 4)))
    spans = product(range(4), repeat=3)
    chances = {span: float(np.exp(span_logprob(model, [1, 2], span, **decoding))) for span in spans}
    assert sum(chances.values()) == pytest.approx(1)
    warpers: list = [TemperatureLogitsWarper(decoding.get("temperature", 1.0))]
    warpers += [TopKLogitsWarper(decoding["top_k"])] if "top_k" in decoding else []
    warpers += [TopPLogitsWarper(decoding["top_p"])] if "top_p" in decoding else []
    torch.manual_seed(0)
    draws = 20_000
    ids = torch.full((draws, 1), 2)
    for _ in range(3):
        logits = model(ids[:, -1:]).logits[:, -1]
        for warper in warpers:
            logits = warper(ids, logits)
        ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)], dim=1)
    drawn, counts = np.unique(ids[:, 1:].numpy(), axis=0, return_counts=True)
    seen = dict(zip(map(tuple, drawn.tolist()), counts.tolist(), strict=True))
    assert all(chances[span] > 0 for span in seen)
    for span, chance in chances.items():
        assert abs(seen.get(span, 0) - draws * chance) <= 5 * np.sqrt(draws * chance * (1 - chance)) + 1e-9


def test_a_span_needs_something_before_it():
    with pytest.raises(InputError, match="precedes"):
        span_logprob(Chain(np.zeros((4, 4))), [], [1])
