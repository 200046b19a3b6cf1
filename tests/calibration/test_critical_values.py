from __future__ import annotations

from types import SimpleNamespace

import brute_force
import numpy as np
import pytest

from sm_ops.calibration.critical import critical_values, project_critical
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.procedure import mask_downstream, mask_reference

pytestmark = pytest.mark.unit


def test_masked_exactly_when_the_critical_value_reaches_the_threshold():
    """At every threshold that matters, against the rules word by word, after propagation and projection."""
    rng = np.random.default_rng(15)
    propagated = 0
    for _ in range(150):
        records, rule = brute_force.random_records(rng), brute_force.random_rule(rng)
        corpus = Corpus.from_scored(records)
        critical = critical_values(corpus, rule)
        scores = {s for r in records for s in brute_force.window_scores(r, rule.n) if s is not None}
        taus = sorted(map(float, scores))
        assert set(critical[np.isfinite(critical)].tolist()) <= set(taus)
        downstream = [brute_force.random_offsets(rng, int(rng.integers(0, 14))) for _ in records]
        for tau in [*taus, *(np.nextafter(tau, np.inf) for tau in taus)]:
            expected = brute_force.mask(records, SimpleNamespace(**{**vars(rule), "tau": tau}))
            got = [(own >= tau).tolist() for own in corpus.split(critical)]
            assert got == expected
            votes = [brute_force.vote(r, rule.n, rule.k, tau) for r in records]
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
        logprobs=-rng.integers(0, 64, length) / 8.0,
        eligible=rng.random(length) < 0.98,
        bounds=np.arange(0, length + 1, 500),
        groups=np.arange(length // 500) // 5,
    )
    rule = SimpleNamespace(windows="fixed", n=4, k=3, select="global", propagate="group")
    critical = critical_values(corpus, rule)
    for tau in (2.0, 4.5, 6.25):
        mask = mask_reference(corpus, SimpleNamespace(**vars(rule), tau=tau))
        assert 0 < mask.sum() < length
        np.testing.assert_array_equal(critical >= tau, mask)


def test_nothing_to_mask():
    rule = SimpleNamespace(windows="fixed", n=4, k=4, select="global", propagate="corpus")
    assert critical_values(Corpus.from_scored([]), rule).tolist() == []
