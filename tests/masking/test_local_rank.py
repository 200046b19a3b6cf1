from __future__ import annotations

import numpy as np
import pytest

from sm_ops.masking import local_rank as module
from sm_ops.masking.local_rank import local_rank

pytestmark = pytest.mark.unit


def by_words(scores: np.ndarray, bounds: np.ndarray, radius: int) -> list[float]:
    """Section 4 and OP-14; a mean log probability is minus a score."""
    ranks = []
    for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        for i in range(first, stop):
            near = [j for j in range(first, stop) if 1 <= abs(i - j) <= radius and not np.isnan(scores[j])]
            if np.isnan(scores[i]) or not near:
                ranks.append(np.nan)
            else:
                ranks.append(100 * sum(-scores[i] >= -scores[j] for j in near) / len(near))
    return ranks


@pytest.mark.parametrize("block", [1, 7, 1 << 14])
def test_equals_the_definition(block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    rng = np.random.default_rng(11)
    for _ in range(20 if block == 1 else 100):
        bounds = np.concatenate([[0], np.cumsum(rng.integers(0, 60, rng.integers(0, 6)))])
        scores = rng.integers(-3, 9, bounds[-1]) / 4.0
        scores[rng.random(len(scores)) < 0.1] = np.nan
        for radius in (1, 2, 32, 200):
            np.testing.assert_array_equal(local_rank(scores, bounds, radius), by_words(scores, bounds, radius))


def test_counts_beyond_one_byte():
    """All tied: every neighbour has at least the surprise, and there are up to 600 of them."""
    assert local_rank(np.zeros(1000), np.array([0, 1000]), 300).tolist() == [100.0] * 1000


def test_order_of_records_changes_nothing():
    rng = np.random.default_rng(12)
    records = [rng.integers(0, 9, n).astype(float) for n in (50, 3, 0, 120, 1)]
    ranks = [local_rank(own, np.array([0, len(own)]), 32) for own in records]
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        bounds = np.cumsum([0, *(len(records[i]) for i in order)])
        together = local_rank(np.concatenate([records[i] for i in order]), bounds, 32)
        np.testing.assert_array_equal(together, np.concatenate([ranks[i] for i in order]))
