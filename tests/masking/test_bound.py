from __future__ import annotations

import json
from math import ceil, inf
from types import SimpleNamespace

import brute_force
import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.tokens import Scored
from sm_ops.masking.bound import bound, check, refusal, summary, targets, told

pytestmark = pytest.mark.unit


def rule(**changes) -> SimpleNamespace:
    return SimpleNamespace(
        **{"windows": "fixed", "n": 4, "agg": "mean", "select": "global", "k": 1, "propagate": "group"}
        | {"prop_n": None, **changes}
    )


def test_bound_by_hand():
    assert bound(4, 4, 0.5).log_p_lower == -2.0
    assert bound(9, 4, 0.5).log_samples_upper == 6.0
    assert bound(10**6, 4, 20.0).log_samples_upper == 2e7  # e^(2e7) has no float
    with pytest.raises(InputError, match="at least 4"):
        bound(3, 4, 0.5)


@pytest.mark.parametrize("propagate", ["none", "record", "group", "corpus"])
def test_every_unmasked_span_keeps_the_bound(propagate):
    """Rules word by word, all spans of random records, exact sums."""
    rng = np.random.default_rng(24)
    spans = 0
    for _ in range(150):
        records = brute_force.random_records(rng)
        own = rule(n=int(rng.integers(1, 5)), tau=float(rng.integers(0, 24)) / 8, propagate=propagate)
        if any(record.violating is not None for record in records):
            continue
        for record, mask in zip(records, brute_force.mask(records, own), strict=True):
            usable = record.tokens.eligible & np.isfinite(record.logprobs)
            for start in range(len(mask)):
                for end in range(start + own.n, len(mask) + 1):
                    if any(mask[start:end]) or not usable[start:end].all():
                        continue
                    logprobs = record.logprobs[start:end]
                    m = end - start
                    assert logprobs.sum() >= -own.n * own.tau * ceil(m / own.n)
                    assert bound(m, own.n, own.tau).log_p_lower == -own.n * own.tau * ceil(m / own.n)
                    assert check(logprobs, own.n, own.tau) is True
                    spans += 1
    assert spans > 300


def test_consensus_breaks_the_bound():
    # one window of two is over the threshold, but each of its tokens has one vote of two
    logprobs = np.array([0.0, 0.0, -9.0, 0.0, 0.0])
    record = Scored("r", None, brute_force.tokens(5), logprobs)
    own = rule(n=2, k=2, tau=4.5, propagate="none")
    assert brute_force.mask([record], own) == [[False, False, True, False, False]]
    border = Scored("r", None, brute_force.tokens(2), np.array([0.0, -9.5]))
    assert brute_force.mask([border], own) == [[False, False]]  # unmasked, and ln p = -9.5 < -9
    assert border.logprobs.sum() < bound(2, 2, 4.5).log_p_lower
    assert check(border.logprobs, 2, 4.5) is None
    assert refusal(own, contrast=False) is not None


def test_check_compares_exactly_and_knows_where_it_does_not_apply():
    assert check(np.array([-1.0, -2.0, -1.0, -2.0]), 2, 1.5) is None  # a window exactly at the threshold is selected
    assert check(np.array([-1.0, -2.0, -1.0, -2.0]), 2, np.nextafter(1.5, 2)) is True
    assert check(np.array([-1.0, np.nan]), 2, 9.0) is None
    assert check(np.array([-1.0, -inf]), 2, 9.0) is None
    assert check(np.array([2**-20, -1.0, 2**-20]), 2, 0.75) is True  # rounding noise above 0
    with pytest.raises(InputError):
        check(np.array([-1.0]), 2, 1.0)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"k": 2}, "2 votes"),
        ({"select": "local"}, "local"),
        ({"windows": "line"}, "line windows"),
        ({"agg": "top"}, "top"),
    ],
)
def test_rules_without_the_bound_are_refused_in_words(change, word):
    assert word in (refusal(rule(**change), contrast=False) or "")


def test_contrast_and_other_decoding_are_refused_in_words():
    assert refusal(rule(), contrast=False) is None
    assert refusal(rule(propagate="none"), contrast=False) is None
    assert "contrast" in (refusal(rule(), contrast=True) or "")
    for decoding in ({"temperature": 0.7}, {"temperature": 0.0}, {"top_k": 50}, {"top_p": 0.9}):
        assert "another" in (refusal(rule(), contrast=False, **decoding) or "")


def test_targets_of_a_record_span_by_span():
    # tokens of two characters, one of them empty, one unsupervised
    offsets = [[0, 2], [2, 4], [4, 6], [6, 6], [6, 8], [8, 10], [10, 12]]
    own = brute_force.tokens(7, offsets, supervised=[1, 1, 1, 1, 1, 1, 0])
    scored = Scored("r", None, own, np.array([-1.0, -2.0, -0.5, -0.25, -0.125, np.nan, -1.0]))
    mask = np.array([True, False, False, False, False, False, False])
    spans = [(1, 3), (2, 6), (3, 8), (4, 6), (7, 9), (6, 9), (9, 11), (20, 30)]
    got = targets(scored, mask, spans, n=2, tau=3.0)
    assert [each.status for each in got] == [
        "masked", "bounded", "bounded", "short", "unscored", "unscored", "unscored", "short",
    ]  # fmt: skip
    assert [each.m for each in got] == [2, 2, 4, 1, 2, 2, 2, 0]
    assert (got[1].log_p, got[1].log_p_lower, got[1].log_samples_upper) == (-2.5, -6.0, 6.0)
    assert (got[2].log_p, got[2].log_p_lower) == (-2.875, -12.0)
    assert got[3].log_p_lower is None


def test_summary_of_a_data_set():
    own = brute_force.tokens(6)
    scored = Scored("r", None, own, -np.arange(6.0) / 4)
    mask = np.array([False] * 5 + [True])
    found = targets(scored, mask, [(0, 2), (0, 4), (1, 4), (2, 3), (4, 6)], n=2, tau=1.25)
    assert summary(found) == {
        "targets": 5, "masked": 1, "short": 1, "unscored": 0, "bounded": 3,
        "log_p": [-1.5, -1.5, -0.25], "log_p_lower": [-5.0, -5.0, -2.5], "log_samples_upper": [2.5, 5.0, 5.0],
    }  # fmt: skip
    assert summary([])["log_p"] is None


def test_records_are_told_by_their_own_thresholds():
    spans = (Span(0, 2, "key"), Span(2, 5, "name"))
    records = [Record(name, text="abcdef", spans=spans) for name in "abc"]
    scored = [Scored(record.id, None, brute_force.tokens(6), np.full(6, -0.5)) for record in records]
    masks = [np.zeros(6, bool), np.arange(6) < 1, np.zeros(6, bool)]
    got = told(rule(n=2), np.array([1.0, 2.0, inf]), records, scored, masks)
    assert json.loads(json.dumps(got)) == got  # it becomes a file
    assert got["refusal"] is None
    assert [(each["label"], each["log_p"], each["log_p_lower"]) for each in got["unmasked"]] == [
        ("key", -1.0, -2.0), ("name", -1.5, -4.0), ("name", -1.5, -8.0), ("key", -1.0, None), ("name", -1.5, None),
    ]  # fmt: skip
    assert got["summary"]["masked"] == 1
    assert got["summary"]["log_p_lower"] == [-8.0, -4.0, -2.0]
    assert "votes" in told(rule(n=2, k=2), 1.0, records, scored, masks)["refusal"]
