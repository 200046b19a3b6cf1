from __future__ import annotations

import time

import brute_force
import numpy as np
import pytest

from sm_ops.core import compiled
from sm_ops.core.errors import InputError
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.duplicates import SCOPES, propagate, propagate_with_sources, spread

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("both_ways")]

ALIKE = np.array([0, 2**31 - 1, 1 - 2**31, 2**62 - 2**31])
"""Equal modulo the prime 2^31 - 1: only a comparison of the ids themselves tells them apart."""


def corpus_of(ids: np.ndarray, bounds: np.ndarray, groups: np.ndarray | None = None) -> Corpus:
    return Corpus(
        ids=ids,
        surprise=np.full(len(ids), np.nan),
        eligible=np.ones(len(ids), bool),
        starts=np.zeros(len(ids), np.int64),
        ends=np.ones(len(ids), np.int64),
        bounds=bounds,
        groups=np.zeros(len(bounds) - 1, np.int64) if groups is None else groups,
    )


def chain(links: int, rng: np.random.Generator) -> tuple[Corpus, np.ndarray, np.ndarray]:
    """Records of 7 ids that overlap by 4 with the next one; the last 3 of each are masked from the start.

    Masking a record's first 4 completes its last 4, which are the next record's first 4. Shuffled.
    """
    order = rng.permutation(links)
    ids = (3 * order[:, None] + np.arange(7)).ravel()
    mask = np.tile([False] * 4 + [True] * 3, links)
    first = int(np.flatnonzero(order == 0)[0]) * 7
    return corpus_of(ids, np.arange(links + 1) * 7), mask, np.arange(first, first + 4)


def random_case(rng: np.random.Generator) -> tuple[list, Corpus, str, int]:
    records = brute_force.random_records(rng)
    for record in records:
        record.tokens.ids[:] = rng.choice([record.tokens.ids, ALIKE[record.tokens.ids]])
    return records, Corpus.from_scored(records), str(rng.choice(SCOPES)), int(rng.integers(1, 6))


def test_propagation_equals_rounds_until_nothing_changes():
    rng = np.random.default_rng(4)
    grown = 0
    for _ in range(600):
        records, corpus, scope, n = random_case(rng)
        mask = rng.random(len(corpus)) < 0.5
        got = propagate(mask, corpus, scope, n)
        started = [own.tolist() for own in corpus.split(mask)]
        assert [own.tolist() for own in corpus.split(got)] == brute_force.propagate(records, started, scope, n)
        grown += int(got.sum()) - int((mask & corpus.eligible).sum())
    assert grown > 300


def test_spread_is_propagation_at_every_threshold():
    rng = np.random.default_rng(5)
    for _ in range(200):
        _, corpus, scope, n = random_case(rng)
        values = np.where(rng.random(len(corpus)) < 0.8, rng.integers(0, 6, len(corpus)), -np.inf)
        reached = spread(values, corpus, scope, n)
        assert set(reached.tolist()) <= set(values.tolist()) | {-np.inf}
        for threshold in range(6):
            at = propagate(values >= threshold, corpus, scope, n)
            np.testing.assert_array_equal(reached >= threshold, at)


def rounds(mask: np.ndarray, corpus: Corpus, scope: str, n: int) -> np.ndarray:
    """In which round of propagation over the whole corpus each position is masked; -1 = never."""
    records = len(corpus.groups)
    number = np.where(mask & corpus.eligible, 0, -1)
    groups = {"record": np.arange(records), "group": corpus.groups, "corpus": np.zeros(records)}
    places = [
        ((groups[scope][r], tuple(corpus.ids[start : start + n].tolist())), np.arange(start, start + n))
        for r in range(records)
        for start in range(corpus.bounds[r], corpus.bounds[r + 1] - n + 1)
    ]
    for step in range(1, len(corpus) + 1):
        hot = {name for name, place in places if (number[place] >= 0).all()}
        new = [place[corpus.eligible[place] & (number[place] < 0)] for name, place in places if name in hot]
        if not any(map(len, new)):
            break
        for place in new:
            number[place] = step
    return number


def test_sources_lead_back_to_the_votes_in_the_fewest_steps():
    rng = np.random.default_rng(8)
    explained = farthest = 0
    small = [(*random_case(rng)[1:], 0.5) for _ in range(300)]
    deep = [(corpus_of(rng.integers(0, 9, 800), np.arange(21) * 40), "corpus", 3, 0.3) for _ in range(10)]
    for corpus, scope, n, share in small + deep:
        mask = rng.random(len(corpus)) < share
        got, source = propagate_with_sources(mask, corpus, scope, n)
        if scope == "none":
            assert (source == -1).all()
            continue
        number = rounds(mask, corpus, scope, n)
        np.testing.assert_array_equal(got, number >= 0)
        np.testing.assert_array_equal(source >= 0, number > 0)
        record = np.repeat(np.arange(len(corpus.groups)), np.diff(corpus.bounds))
        for position in np.flatnonzero(source >= 0).tolist():
            hot = np.arange(source[position], source[position] + n)
            assert len(set(record[hot].tolist())) == 1
            assert number[hot].max() == number[position] - 1
            repeated = [
                start
                for start in range(max(0, position - n + 1), position + 1)
                if start + n <= corpus.bounds[record[position] + 1] and record[start] == record[position]
                if (corpus.ids[start : start + n] == corpus.ids[hot]).all()
            ]
            assert repeated
            if scope != "corpus":
                unit = corpus.groups[record] if scope == "group" else record
                assert unit[hot[0]] == unit[position]
            explained += 1
        farthest = max(farthest, number.max(initial=0))
    assert explained > 100
    assert farthest > 5


def test_the_order_of_records_changes_nothing():
    rng = np.random.default_rng(9)
    for _ in range(60):
        records, corpus, scope, n = random_case(rng)
        values = rng.integers(0, 6, len(corpus)).astype(float)
        order = rng.permutation(len(records))
        moved = np.concatenate([np.empty(0, np.int64), *[corpus.split(np.arange(len(corpus)))[i] for i in order]])
        shuffled = Corpus.from_scored([records[i] for i in order])
        np.testing.assert_array_equal(
            spread(values, corpus, scope, n)[moved], spread(values[moved], shuffled, scope, n)
        )
        mask = values > 2
        np.testing.assert_array_equal(
            propagate(mask, corpus, scope, n)[moved], propagate(mask[moved], shuffled, scope, n)
        )


def test_a_long_chain_is_followed_to_its_end_in_near_linear_time():
    rng = np.random.default_rng(6)
    seconds = []
    for links in (1_500, 15_000):
        corpus, mask, first = chain(links, rng)
        assert not propagate(mask, corpus, "corpus", 4)[first].any()
        mask[first] = True
        started = time.process_time()
        reached, source = propagate_with_sources(mask, corpus, "corpus", 4)
        seconds.append(time.process_time() - started)
        assert reached.all()
        np.testing.assert_array_equal(source >= 0, ~mask)
        values = np.where(mask, np.arange(len(mask), 0.0, -1.0), 0.0)
        values[first] = 0.5
        assert (spread(values, corpus, "corpus", 4) >= 0.5).all()
    assert seconds[1] < 40 * seconds[0] + 0.5
    assert seconds[1] < 5


def test_repetition_of_one_id_spreads_over_itself():
    corpus = corpus_of(np.full(5_000, 7), np.array([0, 5_000]))
    mask = np.zeros(5_000, bool)
    mask[100:104] = True
    assert propagate(mask, corpus, "record", 4).all()
    assert propagate(mask, corpus, "none", 4).sum() == 4
    assert propagate(mask, corpus, "record", 5).sum() == 4


def test_long_records_and_scattered_groups():
    """Records longer than a block of the hash table, empty ones, and groups whose records are far apart."""
    rng = np.random.default_rng(10)
    records = [
        brute_force.Scored(str(i), f"g{rng.integers(0, 4)}", own, np.zeros(len(own)))
        for i in range(40)
        for own in [brute_force.tokens(n, ids=rng.zipf(1.3, n) % 300) for n in [rng.choice([0, 3, 100, 700])]]
    ]
    corpus = Corpus.from_scored(records)
    mask = rng.random(len(corpus)) < 0.45
    got = propagate(mask, corpus, "group", 3)
    assert mask.sum() < got.sum() < len(got)
    started = [own.tolist() for own in corpus.split(mask)]
    assert [own.tolist() for own in corpus.split(got)] == brute_force.propagate(records, started, "group", 3)


def test_sources_are_equal_with_and_without_numba(monkeypatch, both_ways):
    """Of several ways back to the votes, the same one is told."""
    rng = np.random.default_rng(11)
    lengths = rng.integers(0, 400, 30)
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    corpus = corpus_of(rng.zipf(1.3, bounds[-1]) % 200, bounds, rng.integers(0, 4, 30))
    mask = rng.random(len(corpus)) < 0.4
    source = propagate_with_sources(mask, corpus, "group", 3)[1]
    monkeypatch.setattr(compiled.Kernel, "__call__", lambda kernel, *arguments: kernel.plain(*arguments))
    np.testing.assert_array_equal(source, propagate_with_sources(mask, corpus, "group", 3)[1])
    assert (source >= 0).sum() > 500


def test_an_unknown_scope_is_refused():
    corpus = corpus_of(np.zeros(8, np.int64), np.array([0, 8]))
    for mask in (np.ones(8, bool), np.zeros(8, bool)):
        with pytest.raises(InputError, match="group"):
            propagate(mask, corpus, "groups", 4)
