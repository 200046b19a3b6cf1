from __future__ import annotations

import numpy as np
import pytest
import torch

from sm_ops.scoring.blocks import token_logprobs
from sm_ops.scoring.grid import to_grid
from sm_ops.scoring.perplexity import corpus_perplexity, perplexity

pytestmark = pytest.mark.unit


def test_grid_rounds_to_nearest_and_halves_to_even():
    step = 2.0**-20
    values = [0.0, -0.4 * step, -0.5 * step, -1.5 * step, -2.5 * step, -1.6 * step, 0.6 * step]
    assert (to_grid(values) / step).tolist() == [0, 0, 0, -2, -2, -2, 1]
    assert np.isnan(to_grid([np.nan])).all()
    assert to_grid([-np.inf]).tolist() == [-np.inf]
    assert abs(to_grid(-3.3) + 3.3) < 5e-7


@pytest.mark.parametrize(("rows", "columns"), [(128, 16_384), (3, 7), (1, 1), (50, 100), (5, 99)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_blocks_equal_the_full_softmax(rows, columns, with_bias):
    torch.manual_seed(0)
    hidden, weight = torch.randn(17, 8) * 3, torch.randn(100, 8)
    bias = torch.randn(100) if with_bias else None
    targets = torch.randint(0, 100, (17,))
    logits = hidden.double() @ weight.double().T + (0 if bias is None else bias.double())
    expected = logits.log_softmax(1)[torch.arange(17), targets]
    found = token_logprobs(hidden, weight, bias, targets, rows, columns)
    assert torch.allclose(found.double(), expected, atol=1e-5)


def test_blocks_survive_large_logits_and_no_rows():
    hidden = torch.tensor([[100.0], [-100.0]])
    weight = torch.tensor([[5.0], [1.0], [-5.0]])
    found = token_logprobs(hidden, weight, None, torch.tensor([0, 2]), columns=2)
    assert found.tolist() == [0.0, 0.0]
    assert token_logprobs(hidden[:0], weight, None, torch.tensor([], dtype=torch.long)).tolist() == []


def test_perplexity_by_hand():
    assert perplexity([np.nan, -2.0, -4.0]) == pytest.approx(np.exp(3))
    assert perplexity([np.nan]) is None
    assert corpus_perplexity([], "token") is None
    assert corpus_perplexity([[np.nan]], "text") is None
    assert corpus_perplexity([[-1, -1, -1], [-5]], "token") == pytest.approx(np.exp(2))
    assert corpus_perplexity([[-1, -1, -1], [-5], [np.nan]], "text") == pytest.approx(np.exp(3))
