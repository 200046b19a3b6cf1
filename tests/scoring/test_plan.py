from __future__ import annotations

import random

import numpy as np
import pytest

from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.scoring.plan import Plan, chunks

pytestmark = pytest.mark.unit


def tokens(ids):
    ids = np.array(ids, np.int64)
    places, flags = np.arange(len(ids)), np.zeros(len(ids), bool)
    return Tokens(ids, places, places + 1, flags, ~flags)


def plan(texts, heads=(1,), context=1000, budget=100, bodies=None):
    records = [Record(str(i), text="") for i in range(len(texts))]
    return Plan(records, [tokens(t) for t in texts], bodies or [0] * len(texts), heads, context, budget)


def rows(batch):
    return [row.ids.tolist() for row in batch.rows]


def test_chunks_follow_op06():
    # context 10, head 2: first 8; then 5 old tokens and 3 new ones
    assert [(c.first, c.fresh, c.stop) for c in chunks(15, 10, 2)] == [(0, 0, 8), (3, 8, 11), (6, 11, 14), (9, 14, 15)]
    assert [(c.first, c.fresh, c.stop) for c in chunks(8, 10, 2)] == [(0, 0, 8)]
    rng = random.Random(3)
    for _ in range(200):
        context = rng.randint(2, 30)
        head = rng.randint(0, context - context // 2 - 1)
        length = rng.randint(0, 120)
        cut = list(chunks(length, context, head))
        assert [j for c in cut for j in range(c.fresh, c.stop)] == list(range(length))
        assert all(head + len(c) <= context for c in cut)
        assert all(c.fresh - c.first == context // 2 for c in cut[1:])


def test_batches_keep_the_budget_and_hold_every_text_once():
    rng = random.Random(0)
    for _ in range(50):
        head, budget = rng.randint(0, 5), rng.randint(1, 60)
        texts = [[rng.randint(0, 3) for _ in range(rng.randint(0, 20))] for _ in range(rng.randint(0, 30))]
        batches = plan(texts, (head,), budget=budget).batches
        found = [ids for batch in batches for ids in rows(batch)]
        assert sorted(found) == sorted({tuple(t): t for t in texts if t}.values())
        assert [len(ids) for ids in found] == sorted((len(ids) for ids in found), reverse=True)
        for batch in batches:
            assert len(batch.rows) == 1 or len(batch.rows) * (head + len(batch.rows[0].ids)) <= budget


def test_batches_do_not_depend_on_the_order_or_on_copies():
    rng = random.Random(1)
    texts = [[rng.randint(0, 1) for _ in range(rng.randint(0, 6))] for _ in range(60)]
    expected = [rows(batch) for batch in plan(texts, budget=20).batches]
    for _ in range(5):
        rng.shuffle(texts)
        assert [rows(batch) for batch in plan(texts + texts[:9], budget=20).batches] == expected


def test_results_go_where_they_belong():
    texts = [[5, 6, 7], [], [9], [5, 6, 7], [8] * 12]
    made = plan(texts, heads=(1, 3), context=8, budget=20)
    seen = []
    results = []
    for number, batch in enumerate(made.batches):  # a token's "log probability" is its id, ten times it behind head 1
        values = np.concatenate([row.ids[row.known :] for row in batch.rows])
        assert len(values) == batch.scores
        results.append((number, values * 10.0**batch.head))
    random.Random(0).shuffle(results)
    scored = made.collect(iter(results), lambda done, total: seen.append((done, total)))
    assert [s.logprobs.tolist() for s in scored] == texts
    assert [s.violating.tolist() for s in scored] == [[10 * i for i in t] for t in texts]
    assert seen[-1] == (5, 5)
    assert seen == sorted(seen)


def test_what_is_left_out_or_special_has_no_score():
    made = plan([[1, 2, 3]], bodies=[1])
    assert rows(made.batches[0]) == [[2, 3]]
    (scored,) = made.collect([(0, np.array([-2.0, -3.0]))])
    np.testing.assert_array_equal(scored.logprobs, [np.nan, -2, -3])
    scored.tokens.special[2] = True
    (scored,) = made.collect([(0, np.array([-2.0, -3.0]))])
    np.testing.assert_array_equal(scored.logprobs, [np.nan, -2, np.nan])


def test_nothing_to_plan():
    assert plan([]).collect([]) == []
    made = plan([[]])
    assert made.batches == []
    assert made.collect([])[0].logprobs.tolist() == []
