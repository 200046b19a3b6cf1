"""Claims about answers turn at their limits, and only what was measured is claimed."""

from __future__ import annotations

import pytest

from sm_ops.evaluation.answer_claims import claims

pytestmark = pytest.mark.unit


def rate(value, low=None, high=None):
    low, high = value - 0.1 if low is None else low, value + 0.04 if high is None else high
    return {"k": 5, "value": value, "low": low, "high": high}


DISPLAY = {"base": rate(0.0), "unmasked": rate(0.6), "oracle": rate(0.1), "SM50": rate(0.3), "SM90": rate(0.12),
           "random50": rate(0.5), "random90": rate(0.4)}  # fmt: skip
PASSED = {"base": rate(0.02), "unmasked": rate(0.5), "oracle": rate(0.5), "SM95": rate(0.45)}


def judged(**measures):
    """`display` and `pass_at` by condition."""
    names = {name for rates in measures.values() for name in rates}
    rows = [{"condition": name, **{measure: rates.get(name) for measure, rates in measures.items()}} for name in names]
    return {claim.name: claim.passed for claim in claims(rows)}


def test_a_run_that_shows_it_all():
    assert judged(display=DISPLAY, pass_at=PASSED) == dict.fromkeys(
        (
            "unmasked-displays",
            "point-near-oracle",
            "base-solves-nothing",
            "unmasked-solves-more",
            "sm95-solves-as-much",
        ),
        True,
    )


@pytest.mark.parametrize(
    ("name", "holds", "fails"),
    [
        ("unmasked-displays", {"unmasked": rate(0.31)}, {"unmasked": rate(0.29)}),
        ("unmasked-displays", {"oracle": rate(0.0)}, {"oracle": rate(0.0), "unmasked": rate(0.0)}),
        ("point-near-oracle", {"SM90": rate(0.15)}, {"SM90": rate(0.16)}),  # the oracle and five points
        ("point-near-oracle", {"SM90": rate(0.2), "oracle": rate(0.1, 0.0, 0.2)}, {"random90": rate(0.14)}),
        ("point-near-oracle", {"SM50": rate(0.1), "SM90": rate(0.3)}, {"SM90_clip": rate(0.1), "SM90": rate(0.3)}),
        ("base-solves-nothing", {"base": rate(0.05)}, {"base": rate(0.06)}),
        ("unmasked-solves-more", {"base": rate(0.3, 0.2, 0.39)}, {"base": rate(0.3, 0.2, 0.4)}),
        ("sm95-solves-as-much", {"SM95": rate(0.4)}, {"SM95": rate(0.39)}),
        ("sm95-solves-as-much", {"SM95": rate(0.9)}, {"SM95": rate(0.0)}),
    ],
)
def test_claims_turn_at_their_limits(name, holds, fails):
    measure, usual = ("display", DISPLAY) if name in ("unmasked-displays", "point-near-oracle") else ("pass_at", PASSED)
    assert judged(**{measure: usual | holds})[name] is True
    assert judged(**{measure: usual | fails})[name] is False


def test_nothing_is_claimed_of_what_was_not_measured():
    assert judged() == judged(display={"SM50": None}) == {}
    assert judged(pass_at={"base": rate(0.0)}) == {
        "base-solves-nothing": True, "unmasked-solves-more": None, "sm95-solves-as-much": None,
    }  # fmt: skip
    assert judged(pass_at=PASSED | {"unmasked": rate(0.0)})["sm95-solves-as-much"] is None
    assert judged(display={"oracle": rate(0.1), "unmasked": rate(0.9)})["point-near-oracle"] is None
