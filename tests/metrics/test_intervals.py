from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from sm_ops.metrics import clopper_pearson, hits_needed, lower_bound, student

pytestmark = pytest.mark.unit


def tail(k: int, n: int, p: float) -> Fraction:
    """P(X >= k), exactly."""
    rate = Fraction(p)
    return sum((comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(k, n + 1)), Fraction(0))


def test_ends_are_where_the_binomial_tails_say():
    for n, confidence in ((1, 0.5), (2, 0.9), (7, 0.95), (20, 0.999), (41, 0.95)):
        for k in range(n + 1):
            low, high = clopper_pearson(k, n, confidence) or (0, 0)
            assert 0 <= low <= k / n <= high <= 1
            if k:
                assert float(tail(k, n, low)) == pytest.approx((1 - confidence) / 2, rel=1e-10)
            if k < n:
                assert float(1 - tail(k + 1, n, high)) == pytest.approx((1 - confidence) / 2, rel=1e-10)
            assert (low == 0) == (k == 0)
            assert (high == 1) == (k == n)


def test_closed_forms_and_a_published_value():
    # no hit: 1 - (alpha/2)^(1/n); all hits: (alpha/2)^(1/n)
    assert clopper_pearson(0, 30) == (0.0, pytest.approx(1 - 0.025 ** (1 / 30), rel=1e-12))
    assert clopper_pearson(30, 30) == (pytest.approx(0.025 ** (1 / 30), rel=1e-12), 1.0)
    assert lower_bound(59, 59, 0.95) == pytest.approx(0.05 ** (1 / 59), rel=1e-12)
    assert clopper_pearson(5, 10) == (pytest.approx(0.187086, abs=5e-7), pytest.approx(0.812914, abs=5e-7))  # tables
    assert clopper_pearson(0, 0) is None
    assert lower_bound(0, 0, 0.95) is None


def test_large_counts_keep_their_digits():
    low, high = clopper_pearson(1, 10**6) or (0, 0)
    assert low == pytest.approx(1 - 0.975 ** (1 / 10**6), rel=1e-9)
    low, high = clopper_pearson(400_000, 10**6) or (0, 0)
    normal = 1.959963984540054 * np.sqrt(0.4 * 0.6 / 10**6)
    assert low == pytest.approx(0.4 - normal, abs=1e-6)
    assert high == pytest.approx(0.4 + normal, abs=1e-6)
    assert (low + high) / 2 == pytest.approx(0.4, abs=1e-6)


def test_one_sided_bound_is_the_end_of_the_wider_interval():
    for k, n in ((3, 10), (95, 100)):
        assert lower_bound(k, n, 0.95) == pytest.approx((clopper_pearson(k, n, 0.9) or (0,))[0], rel=1e-12)


def test_interval_covers_every_rate_at_least_as_often_as_it_says():
    n, confidence = 12, 0.9
    intervals = [clopper_pearson(k, n, confidence) or (0, 0) for k in range(n + 1)]
    for rate in np.linspace(0.01, 0.99, 99).tolist():
        covered = sum(
            comb(n, k) * rate**k * (1 - rate) ** (n - k)
            for k, (low, high) in enumerate(intervals)
            if low <= rate <= high
        )
        assert covered >= confidence - 1e-12


def test_hits_needed_is_the_first_count_that_shows_the_rate():
    for n, rate, confidence in ((0, 0.5, 0.9), (1, 0.5, 0.9), (10, 0.5, 0.8), (10, 0.9, 0.5), (40, 0.75, 0.95)):
        shows = (k for k in range(1, n + 1) if tail(k, n, rate) <= Fraction(1) - Fraction(confidence))
        assert hits_needed(n, rate, confidence) == next(shows, None)
    assert hits_needed(59, 0.95, 0.95) == 59  # the textbook case: 0.95^59 = 0.0485
    assert hits_needed(58, 0.95, 0.95) is None


def test_a_threshold_by_hits_needed_keeps_its_promise_although_the_same_units_chose_it():
    rng = np.random.default_rng(21)
    n, rate, confidence = 40, 0.8, 0.9
    k = hits_needed(n, rate, confidence)
    assert k is not None
    kept = 0
    for _ in range(4000):
        threshold = np.sort(rng.random(n))[n - k]  # the k-th largest; the true recall is 1 - threshold
        kept += 1 - threshold >= rate
    assert 0.9 - 0.02 <= kept / 4000 <= 0.97


def test_quantiles_of_students_t_are_those_of_the_tables():
    printed = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 29: 2.045, 100: 1.984}
    assert {degrees: round(student(0.95, degrees), 3) for degrees in printed} == printed
    assert student(0.99, 9) == pytest.approx(3.2498, abs=1e-4)
