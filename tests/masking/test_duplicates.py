from __future__ import annotations

import time

import brute_force
import numpy as np
import pytest

from sm_ops.masking.corpus import Corpus
from sm_ops.masking.duplicates import propagate, spread

pytestmark = pytest.mark.unit


def corpus_of(ids: np.ndarray, bounds: np.ndarray) -> Corpus:
    length = len(bounds) - 1
    return Corpus(ids, np.full(len(ids), np.nan), np.ones(len(ids), bool), bounds, np.zeros(length, np.int64))


def chain(links: int, rng: np.random.Generator) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """Records of 7 ids that overlap by 4 with the next one; the last 3 of each are masked from the start.

    Masking a record's first 4 completes its last 4, which are the next record's first 4. Shuffled.
    """
    order = rng.permutation(links)
    ids = (3 * order[:, None] + np.arange(7)).ravel()
    mask = np.tile([False] * 4 + [True] * 3, links)
    first = int(np.flatnonzero(order == 0)[0]) * 7
    return corpus_of(ids, np.arange(links + 1) * 7), mask, np.arange(first, first + 4)


def test_propagation_equals_rounds_until_nothing_changes():
    rng = np.random.default_rng(4)
    grown = 0
    for _ in range(600):
        records, rule = brute_force.random_records(rng), brute_force.random_rule(rng)
        corpus = Corpus.from_scored(records)
        mask = rng.random(len(corpus)) < 0.5
        got = propagate(mask, corpus, rule.propagate, rule.n)
        started = [own.tolist() for own in corpus.split(mask)]
        expected = brute_force.propagate(records, started, rule.propagate, rule.n)
        assert [own.tolist() for own in corpus.split(got)] == expected
        grown += int(got.sum()) - int((mask & corpus.eligible).sum())
    assert grown > 300


def test_spread_is_propagation_at_every_threshold():
    rng = np.random.default_rng(5)
    for _ in range(200):
        records, rule = brute_force.random_records(rng), brute_force.random_rule(rng)
        corpus = Corpus.from_scored(records)
        values = np.where(rng.random(len(corpus)) < 0.8, rng.integers(0, 6, len(corpus)), -np.inf)
        reached = spread(values, corpus, rule.propagate, rule.n)
        for threshold in range(6):
            at = propagate(values >= threshold, corpus, rule.propagate, rule.n)
            np.testing.assert_array_equal(reached >= threshold, at)


def test_a_long_chain_is_followed_to_its_end_in_near_linear_time():
    rng = np.random.default_rng(6)
    seconds = []
    for links in (2_000, 20_000):
        corpus, mask, first = chain(links, rng)
        assert not propagate(mask, corpus, "corpus", 4)[first].any()
        mask[first] = True
        started = time.process_time()
        assert propagate(mask, corpus, "corpus", 4).all()
        seconds.append(time.process_time() - started)
    assert seconds[1] < 40 * seconds[0] + 0.5
    assert seconds[1] < 5


def test_repetition_of_one_id_spreads_over_itself():
    corpus = corpus_of(np.full(5_000, 7), np.array([0, 5_000]))
    mask = np.zeros(5_000, bool)
    mask[100:104] = True
    assert propagate(mask, corpus, "record", 4).all()
    assert propagate(mask, corpus, "none", 4).sum() == 4
    assert propagate(mask, corpus, "record", 5).sum() == 4
