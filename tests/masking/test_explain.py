from __future__ import annotations

from types import SimpleNamespace

import brute_force
import numpy as np
import pytest

from sm_ops.core.tokens import Scored
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.explain import Reason, reasons
from sm_ops.masking.procedure import apply
from sm_ops.masking.spans import merged

pytestmark = pytest.mark.unit


def rule(**changes) -> SimpleNamespace:
    values = {"windows": "fixed", "n": 2, "agg": "mean", "k": 1, "select": "global", "tau": 5.0, "propagate": "group"}
    return SimpleNamespace(**(values | {"prop_n": None} | changes))


def test_a_span_names_its_windows_and_what_it_repeats():
    """Two records of one person: surprising in the first, familiar in the second, which repeats it."""
    first = Scored("a", "p", brute_force.tokens(5, ids=[1, 7, 8, 2, 3]), -np.array([1.0, 6, 6, 1, 1]))
    second = Scored("b", "p", brute_force.tokens(4, ids=[7, 8, 4, 5]), -np.array([1.0, 1, 1, 1]))
    corpus = Corpus.from_scored([first, second])
    told = list(reasons(apply(corpus, rule()), corpus))
    assert told == [[Reason(1, 3, [(1, 3, 6.0)], [])], [Reason(0, 2, [], [(0, 1, 3)])]]


def test_every_masked_position_has_a_reason_and_no_other():
    rng = np.random.default_rng(5)
    copies = 0
    for _ in range(400):
        pairs, own = brute_force.random_pairs(rng), brute_force.random_rule(rng)
        scored, records = [each for each, _ in pairs], [record for _, record in pairs]
        corpus = Corpus.from_scored(scored, records)
        applied = apply(corpus, own)
        votes = np.concatenate([np.zeros(0, bool), *(brute_force.vote(s, own, r) for s, r in pairs)]).astype(bool)
        copied = applied.sources >= 0
        assert not (copied & votes).any()
        assert (applied.mask == (votes | copied)).all()
        for position in np.flatnonzero(copied):
            source = applied.sources[position]
            run = slice(source, source + applied.length)
            assert applied.mask[run].all()
            starts = range(max(0, position - applied.length + 1), position + 1)
            assert any(np.array_equal(corpus.ids[s : s + applied.length], corpus.ids[run]) for s in starts)
        copies += int(copied.sum())
        for spans, (each, _), mask in zip(reasons(applied, corpus), pairs, corpus.split(applied.mask), strict=True):
            starts, ends = merged(each.tokens.starts[mask], each.tokens.ends[mask])
            assert [(span.start, span.end) for span in spans] == list(zip(starts, ends, strict=True))
            assert all(span.windows or span.copies for span in spans)
    assert copies > 100


def test_merging_is_the_union():
    rng = np.random.default_rng(6)
    for _ in range(300):
        offsets = brute_force.random_offsets(rng, int(rng.integers(0, 9)))
        rng.shuffle(offsets)
        starts, ends = merged(*offsets.T)
        covered = {c for start, end in offsets.tolist() for c in range(start, end)}
        assert {c for s, e in zip(starts, ends, strict=True) for c in range(s, e)} == covered
        assert (starts < ends).all()
        assert (starts[1:] > ends[:-1]).all()
