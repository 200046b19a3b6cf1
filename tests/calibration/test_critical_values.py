from __future__ import annotations

from types import SimpleNamespace

import brute_force
import numpy as np
import pytest

from sm_ops.calibration.critical import critical_values, project_critical
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.procedure import mask_downstream, mask_reference
from sm_ops.masking.rules import settings_at

pytestmark = pytest.mark.unit

FIXED = {"windows": "fixed", "n": 4, "agg": "mean", "select": "global", "prop_n": None}


def test_masked_exactly_when_the_critical_value_reaches_the_threshold():
    """At every threshold that matters, against the rules word by word, after propagation and projection."""
    rng = np.random.default_rng(15)
    propagated = 0
    for _ in range(150):
        pairs, rule = brute_force.random_pairs(rng), brute_force.random_rule(rng)
        records, texts = [own for own, _ in pairs], [text for _, text in pairs]
        corpus = Corpus.from_scored(records, texts)
        critical = critical_values(corpus, rule)
        scores = [brute_force.scores_of(own, rule, text) for own, text in pairs]
        if rule.select == "local":
            scores = [[None if r is None else -r for r in brute_force.ranks(own, rule.radius)] for own in scores]
        taus = sorted({float(score) for own in scores for score in own if score is not None})
        assert set(critical[np.isfinite(critical)].tolist()) <= set(taus)
        downstream = [brute_force.random_offsets(rng, int(rng.integers(0, 14))) for _ in records]
        for tau in [*taus, *(np.nextafter(tau, np.inf) for tau in taus)]:
            at = SimpleNamespace(**{**vars(rule), **settings_at(rule.select, tau)})
            expected = brute_force.mask(records, at, texts)
            got = [(own >= tau).tolist() for own in corpus.split(critical)]
            assert got == expected
            votes = [brute_force.vote(own, at, text) for own, text in pairs]
            propagated += sum(map(sum, expected)) - sum(map(sum, votes))
            for record, own, offsets, mask in zip(
                records, corpus.split(critical), downstream, expected, strict=True
            ):
                tokens = brute_force.tokens(len(offsets), offsets, supervised=np.arange(len(offsets)) % 5 > 0)
                hit = brute_force.overlap(
                    offsets, np.column_stack([record.tokens.starts, record.tokens.ends])[np.array(mask, bool)]
                )
                projected = project_critical(record.tokens, own, tokens) >= tau
                assert projected.tolist() == [bool(h and e) for h, e in zip(hit, tokens.eligible, strict=True)]
                np.testing.assert_array_equal(
                    projected, mask_downstream(record.tokens, np.array(mask, bool), tokens)
                )
    assert propagated > 1000


def test_long_corpora_agree_with_the_mask_across_block_borders():
    rng = np.random.default_rng(16)
    length = 100_000
    corpus = Corpus(
        ids=rng.zipf(1.4, length) % 500,
        surprise=rng.integers(0, 64, length) / 8.0,
        eligible=rng.random(length) < 0.98,
        starts=np.arange(length) % 500,
        ends=np.arange(length) % 500 + 1,
        bounds=np.arange(0, length + 1, 500),
        groups=np.arange(length // 500) // 5,
    )
    rule = SimpleNamespace(**FIXED, k=3, propagate="group")
    critical = critical_values(corpus, rule)
    for tau in (2.0, 4.5, 6.25):
        mask = mask_reference(corpus, SimpleNamespace(**vars(rule), tau=tau))
        assert 0 < mask.sum() < length
        np.testing.assert_array_equal(critical >= tau, mask)


def test_nothing_to_mask():
    rule = SimpleNamespace(**FIXED, k=4, propagate="corpus")
    assert critical_values(Corpus.from_scored([]), rule).tolist() == []
