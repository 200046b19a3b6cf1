from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sm_ops.evaluation.frontier import Point, claims, family, likelihood_in, pareto, points_of

pytestmark = pytest.mark.unit

GOOD = {  # condition: hits of 20 attacks, NLL
    "base": (1, 1.5), "unmasked": (20, 1.0), "oracle": (0, 0.9), "SM50": (8, 1.02), "SM95": (2, 1.2),
    "random95": (10, 1.3), "goldfish3": (8, 1.05),
}  # fmt: skip


def rows(changes: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    measured = {name: value for name, value in (GOOD | (changes or {})).items() if value is not None}
    return [
        {"condition": name, "extraction_approx": {"k": k, "n": 20, "low": 0.0, "high": 1.0}, "nll": nll}
        for name, (k, nll) in measured.items()
    ]


def judged(changes: dict[str, Any] | None = None) -> dict[str, bool | None]:
    return {claim.name: claim.passed for claim in claims(rows(changes))}


def test_a_good_run_passes_every_claim() -> None:
    assert set(judged().values()) == {True}
    assert len(judged()) == 6


@pytest.mark.parametrize(
    ("name", "holds", "fails"),
    [
        ("unmasked-leaks", {"unmasked": (12, 1.0)}, {"unmasked": (11, 1.0)}),  # 60 % of 20 is 12
        ("sm95-protects", {"base": (0, 1.5)}, {"SM95": (3, 1.2)}),  # a tenth of 20 is 2; the floor of 1 gives 2
        ("sm95-protects", {"SM95": (4, 1.2), "base": (3, 1.5)}, {"SM95": (5, 1.2), "base": (3, 1.5)}),
        ("oracle-is-no-worse", {"oracle": (3, 0.9)}, {"oracle": (4, 0.9)}),  # five points of 20 are 1
        ("random-leaks", {"random95": (10, 1.3)}, {"random95": (9, 1.3)}),
        ("baselines-matched", {"goldfish3": (8, 1.02)}, {"goldfish3": (8, 1.01)}),
        ("baselines-matched", {"random95": (2, 1.2)}, {"random95": (1, 1.2)}),
        ("cheap-protection", {"SM50": (8, 1.05)}, {"SM50": (8, 1.06)}),
        ("cheap-protection", {"SM50": (8, 0.5)}, {"SM50": (9, 0.5)}),  # 40 % of 20 is 8
    ],
)
def test_claims_turn_at_their_limits(name: str, holds: dict, fails: dict) -> None:
    assert judged(holds)[name] is True
    assert judged(fails)[name] is False


@pytest.mark.parametrize(
    ("missing", "undefined"),
    [
        ("base", {"sm95-protects"}),
        ("unmasked", {"unmasked-leaks", "sm95-protects", "random-leaks", "cheap-protection"}),
        ("oracle", {"oracle-is-no-worse"}),
        ("SM95", {"sm95-protects", "oracle-is-no-worse"}),
        ("random95", {"random-leaks", "baselines-matched"}),
        ("goldfish3", {"baselines-matched"}),
    ],
)
def test_what_was_not_measured_is_undefined(missing: str, undefined: set[str]) -> None:
    assert {name for name, passed in judged({missing: None}).items() if passed is None} == undefined


def test_no_rows_pass_nothing() -> None:
    assert {claim.passed for claim in claims([])} == {None}


def test_unmeasured_rows_are_no_points() -> None:
    nothing = {"condition": "SM95", "extraction_approx": {"k": 0, "n": 0, "low": None, "high": None}, "nll": 1.0}
    no_nll = {"condition": "SM90", "extraction_approx": {"k": 0, "n": 3, "low": 0.0, "high": 0.5}, "nll": None}
    assert points_of([nothing, no_nll]) == {}


def test_details_hold_the_numbers() -> None:
    details = {claim.name: claim.detail for claim in claims(rows())}
    assert details["sm95-protects"] == "SM95 10.0 %, limit 10.0 %, floor 5.0 %"
    assert "goldfish3 40.0 % at NLL 1.050 by SM50 40.0 % at NLL 1.020" in details["baselines-matched"]


def test_family_drops_the_operating_point() -> None:
    names = ("SM95", "SM92.5", "random95", "goldfish3", "base")
    assert [family(name) for name in names] == ["SM", "SM", "random", "goldfish", "base"]


def test_equal_points_are_both_on_the_frontier() -> None:
    points = [Point("a", 0.5, 1.0), Point("b", 0.5, 1.0), Point("c", 0.5, 1.1), Point("d", 0.4, 2.0)]
    assert pareto(points) == ["a", "b", "d"]


def test_pareto_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        values = rng.integers(0, 4, (int(rng.integers(1, 9)), 2)).tolist()
        points = [Point(str(i), x, y) for i, (x, y) in enumerate(values)]
        best = {
            str(i)
            for i, (x, y) in enumerate(values)
            if not any(a <= x and b <= y and (a < x or b < y) for a, b in values)
        }
        assert set(pareto(points)) == best


def test_nothing_is_claimed_against_a_training_that_leaked_nothing():
    quiet = [{"condition": name, "extraction_approx": {"k": 0, "n": 24}, "nll": 5.0}
             for name in ("base", "unmasked", "oracle", "SM95", "random95", "goldfish3")]  # fmt: skip
    passed = {claim.name: claim.passed for claim in claims(quiet)}
    assert passed["unmasked-leaks"] is False
    assert [passed[name] for name in ("sm95-protects", "random-leaks", "cheap-protection")] == [None, None, None]


def test_a_base_that_has_seen_the_canaries_is_no_floor() -> None:
    """It gives away 15 of 20, which would let SM95 leak as much."""
    measured = rows({"base": (15, 1.5), "SM95": (3, 1.2)})
    assert {claim.name: claim.passed for claim in claims(measured)}["sm95-protects"] is True
    (claim,) = [each for each in claims(measured, floor=False) if each.name == "sm95-protects"]
    assert (claim.passed, claim.detail) == (False, "SM95 15.0 %, limit 10.0 %")
    without = claims(rows({"base": None, "SM95": (2, 1.2)}), floor=False)
    assert {each.name: each.passed for each in without}["sm95-protects"] is True, "the base model is not asked"
    assert [each.name for each in without] == [each.name for each in claims(measured)]


def test_points_stand_where_answers_are_likely_where_that_was_measured() -> None:
    pooled = rows()
    assert likelihood_in(pooled) == "nll"
    answered = [row | {"completion_nll": row["nll"] + 1} for row in pooled]
    assert likelihood_in(answered) == "completion_nll"
    assert points_of(answered)["SM95"].nll == 2.2
