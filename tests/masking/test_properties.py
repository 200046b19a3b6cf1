"""What must hold for any rule on any records: order, groups and tokenizers change nothing that they must not."""

from __future__ import annotations

import brute_force
import numpy as np
import pytest

from sm_ops.calibration.critical import critical_values, project_critical
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.procedure import mask_downstream, mask_reference

pytestmark = pytest.mark.unit


def masks(pairs, rule) -> dict[str, list[bool]]:
    scored, records = [own for own, _ in pairs], [record for _, record in pairs]
    corpus = Corpus.from_scored(scored, records)
    found = corpus.split(mask_reference(corpus, rule))
    return {record.id: mask.tolist() for record, mask in zip(records, found, strict=True)}


def drawn(seed: int, count: int = 300):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng, brute_force.random_pairs(rng), brute_force.random_rule(rng)


def test_the_order_of_records_changes_no_mask():
    for rng, pairs, rule in drawn(31):
        order = rng.permutation(len(pairs))
        assert masks([pairs[place] for place in order], rule) == masks(pairs, rule)


def test_groups_can_be_masked_apart_unless_propagation_spans_the_corpus():
    for _, pairs, rule in drawn(32):
        if rule.propagate == "corpus":
            continue
        groups: dict[str, list] = {}
        for scored, record in pairs:
            groups.setdefault(scored.group or record.id, []).append((scored, record))
        apart = {name: mask for group in groups.values() for name, mask in masks(group, rule).items()}
        assert apart == masks(pairs, rule)


def test_wider_propagation_and_fewer_votes_only_add():
    for _, pairs, rule in drawn(33):
        before = None
        for scope in ("none", "record", "group", "corpus"):
            rule.propagate, rule.prop_n = scope, rule.prop_n or 2
            now = masks(pairs, rule)
            if before is not None:
                assert all(a <= b for name in now for a, b in zip(before[name], now[name], strict=True))
            before = now
        more = masks(pairs, rule)
        rule.k = 1
        assert all(a <= b for name in more for a, b in zip(more[name], masks(pairs, rule)[name], strict=True))


def test_a_tokenizer_of_characters_sees_what_the_reference_masked():
    """In characters the mask covers exactly the characters of masked tokens; projected back, at least those tokens."""
    for _, pairs, rule in drawn(34, 150):
        scored, records = [own for own, _ in pairs], [record for _, record in pairs]
        corpus = Corpus.from_scored(scored, records)
        for own, mask in zip(scored, corpus.split(mask_reference(corpus, rule)), strict=True):
            length = int(own.tokens.ends.max(initial=0))
            characters = brute_force.tokens(length)
            there = mask_downstream(own.tokens, mask, characters)
            assert there.tolist() == brute_force.overlap(
                np.column_stack([characters.starts, characters.ends]),
                np.column_stack([own.tokens.starts, own.tokens.ends])[mask],
            )
            back = mask_downstream(characters, there, own.tokens)
            full = own.tokens.ends > own.tokens.starts
            assert (back | ~(mask & full)).all()


def test_critical_values_fall_where_masks_end():
    """Over another tokenizer: masked at a threshold exactly when the projected critical value reaches it."""
    for rng, pairs, rule in drawn(35, 100):
        scored, records = [own for own, _ in pairs], [record for _, record in pairs]
        corpus = Corpus.from_scored(scored, records)
        for own, values in zip(scored, corpus.split(critical_values(corpus, rule)), strict=True):
            offsets = brute_force.random_offsets(rng, int(rng.integers(0, 10)))
            other = brute_force.tokens(len(offsets), offsets)
            projected = project_critical(own.tokens, values, other)
            for tau in np.unique(values[np.isfinite(values)]):
                direct = mask_downstream(own.tokens, values >= tau, other)
                assert ((projected >= tau) == direct).all()
