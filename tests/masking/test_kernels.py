"""Kernels over fixed windows against the rules word by word, as plain Python and compiled."""

from __future__ import annotations

import brute_force
import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.masking.consensus import consensus, kth_largest, votes
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.kernels import grid_scores, mean_scores

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("both_ways")]


def test_mean_scores_equal_exact_fractions():
    rng = np.random.default_rng(13)
    valid = 0
    for _ in range(200):
        records = brute_force.random_records(rng)
        for record in records:
            record.logprobs[:] += rng.normal(size=len(record.logprobs))  # off the grid, some above 0
            record.logprobs[rng.random(len(record.logprobs)) < 0.03] = -np.inf
        corpus, n = Corpus.from_scored(records), int(rng.integers(1, 6))
        surprise = np.concatenate([np.empty(0), *[-record.logprobs for record in records]])
        expected = []
        for record in records:
            plain = brute_force.Scored(record.id, record.group, record.tokens, record.logprobs)
            expected += [np.nan if s is None else float(s) for s in brute_force.window_scores(plain, n)]
        got = mean_scores(surprise, corpus.eligible, corpus.bounds, n)
        np.testing.assert_array_equal(got, np.array(expected))
        valid += int(np.isfinite(got).sum())
    assert valid > 1000


def test_halves_of_the_grid_go_to_the_even_neighbour():
    scores = np.array([0.5, 1.5, 2.5, -0.5, -1.5]) * 2.0**-20
    grid, usable = grid_scores(scores, np.ones(5, bool))
    assert grid.tolist() == [0, 2, 2, 0, -2]
    assert usable.all()
    means = mean_scores(scores, np.ones(5, bool), np.array([0, 5]), 1)
    assert (means * 2**20).tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize("score", [2.0**20 + 1, -(2.0**20) - 1, 1e300])
def test_scores_that_are_no_natural_logarithms_are_refused(score):
    scores, eligible = np.array([1.0, score, 1.0]), np.ones(3, bool)
    with pytest.raises(InputError, match="natural logarithms"):
        mean_scores(scores, eligible, np.array([0, 3]), 2)
    with pytest.raises(InputError, match="natural logarithms"):
        grid_scores(scores, eligible)
    eligible[1] = False
    assert np.isnan(mean_scores(scores, eligible, np.array([0, 3]), 2)).all()


def test_votes_and_kth_largest_equal_counting():
    rng = np.random.default_rng(14)
    for _ in range(300):
        length, n = int(rng.integers(0, 20)), int(rng.integers(1, 8))
        levels = rng.integers(0, 5, length).astype(float)
        levels[rng.random(length) < 0.2] = -np.inf
        selected = levels >= 3
        holding = [range(max(0, j - n + 1), j + 1) for j in range(length)]
        counts = [sum(bool(selected[i]) for i in own) for own in holding]
        assert votes(selected, n).tolist() == counts
        k = int(rng.integers(1, n + 1))
        assert consensus(selected, n, k).tolist() == [count >= k for count in counts]
        sought = [sorted([levels[i] for i in own] + [-np.inf] * n, reverse=True)[k - 1] for own in holding]
        assert kth_largest(levels, n, k).tolist() == sought
