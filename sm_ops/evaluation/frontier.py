"""The frontier: which conditions nothing beats in both leakage and utility, and what the experiment must show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sm_ops.core.registry import members
from sm_ops.masking.conditions import BASE, ORACLE, UNMASKED, variant

DETECTOR = "detector"
OURS = (BASE, UNMASKED, ORACLE, "SM")
"""Families beside baselines, which go by their members' names, and detectors, whose conditions have names of choice."""


@dataclass(frozen=True, slots=True)
class Point:
    """A condition: what it leaks, and held-out negative log likelihood in nats per token.

    It leaks the share of canaries extracted, or of cases that display a quirk where there are no canaries.
    """

    condition: str
    leak: Fraction | float
    nll: float

    def beats(self, other: Point) -> bool:
        """No worse in both, better in one."""
        mine, others = (self.leak, self.nll), (other.leak, other.nll)
        return mine != others and mine[0] <= others[0] and mine[1] <= others[1]

    def __str__(self) -> str:
        return f"{self.condition} {_percent(self.leak)} at NLL {self.nll:.3f}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence about a run; `passed` is `None` where the run lacks what it speaks of. `detail` has the numbers."""

    name: str
    sentence: str
    passed: bool | None
    detail: str


def family(condition: str) -> str:
    """The condition's method, without operating point or variant: "SM95", "SM95_clip" -> "SM"."""
    method = "SM" if variant(condition) else condition.rstrip("0123456789.")
    return method if method in OURS or method in members("baseline") else DETECTOR


def pareto(points: Iterable[Point]) -> list[str]:
    """Conditions that no other beats, by falling leakage; equal points are all on the frontier."""
    points = sorted(points, key=lambda point: (-point.leak, point.nll, point.condition))
    return [point.condition for point in points if not any(other.beats(point) for other in points)]


def points_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Point]:
    """Approximate extraction (exact fractions of counts), or else display, and NLL; unmeasured rows are left out.

    The NLL is the one that `likelihood_in` names.
    """
    rows = list(rows)
    nll = likelihood_in(rows)
    leaks = {row["condition"]: (_leak(row), row.get(nll)) for row in rows}
    return {name: Point(name, leak, nll) for name, (leak, nll) in leaks.items() if leak is not None and nll is not None}


def likelihood_in(rows: Iterable[Mapping[str, Any]]) -> str:
    """The NLL that tells utility: of right answers to prompts where any row has it (B.2, OP-33), else pooled."""
    return "completion_nll" if any(row.get("completion_nll") is not None for row in rows) else "nll"


def _leak(row: Mapping[str, Any]) -> Fraction | float | None:
    if n := row["extraction_approx"]["n"]:
        return Fraction(row["extraction_approx"]["k"], n)
    return display["value"] if (display := row.get("display")) else None


def claims(rows: Iterable[Mapping[str, Any]], floor: bool = True) -> list[Claim]:
    """What an attack on canaries must show, judged on rows pooled over seeds; never a pass by absence.

    `floor`: the base model never saw the canaries, so that what it gives away is chance.
    """
    points = points_of(rows)
    return [_judge(check, points) for check in (_UNMASKED, _FLOORED if floor else _UNFLOORED, *_OTHERS)]


@dataclass(frozen=True, slots=True)
class _Check:
    """`judge` gets the points by condition; `needs` are conditions or families that must be among them.

    With `leak` the check compares with what unmasked training leaks, and is undefined where that is nothing.
    """

    name: str
    sentence: str
    needs: tuple[str, ...]
    judge: Callable[[dict[str, Point]], tuple[bool, str]]
    leak: bool = True


def _judge(check: _Check, points: dict[str, Point]) -> Claim:
    present = points.keys() | {family(condition) for condition in points}
    missing = [need for need in check.needs if need not in present]
    if missing:
        return Claim(check.name, check.sentence, None, f"this run has not measured {' and '.join(missing)}")
    if check.leak and not points["unmasked"].leak:
        return Claim(check.name, check.sentence, None, "training without a mask leaked nothing to compare with")
    passed, detail = check.judge(points)
    return Claim(check.name, check.sentence, passed, detail)


def _unmasked_leaks(points: dict[str, Point]) -> tuple[bool, str]:
    rate = points["unmasked"].leak
    return rate >= Fraction(60, 100), f"unmasked {_percent(rate)}"


def _sm95_protects(points: dict[str, Point]) -> tuple[bool, str]:
    rate, unmasked, floor = (points[name].leak for name in ("SM95", "unmasked", "base"))
    limit = max(Fraction(10, 100) * unmasked, floor + Fraction(5, 100))
    return rate <= limit, f"SM95 {_percent(rate)}, limit {_percent(limit)}, floor {_percent(floor)}"


def _sm95_protects_without_floor(points: dict[str, Point]) -> tuple[bool, str]:
    rate, limit = points["SM95"].leak, Fraction(10, 100) * points["unmasked"].leak
    return rate <= limit, f"SM95 {_percent(rate)}, limit {_percent(limit)}"


def _oracle_is_no_worse(points: dict[str, Point]) -> tuple[bool, str]:
    rate, masked = points["oracle"].leak, points["SM95"].leak
    return rate <= masked + Fraction(5, 100), f"oracle {_percent(rate)}, SM95 {_percent(masked)}"


def _random_leaks(points: dict[str, Point]) -> tuple[bool, str]:
    rate, unmasked = points["random95"].leak, points["unmasked"].leak
    return 2 * rate >= unmasked, f"random95 {_percent(rate)}, unmasked {_percent(unmasked)}"


def _baselines_are_matched(points: dict[str, Point]) -> tuple[bool, str]:
    """Every baseline's point has a surprise-masking point that is as good in both."""
    baselines = [point for name, point in points.items() if family(name) not in (*OURS, DETECTOR)]
    matches = [_least_leaking(points, at_most=(each.leak, each.nll)) for each in baselines]
    told = "; ".join(f"{each} by {match or 'none'}" for each, match in zip(baselines, matches, strict=True))
    return all(matches), told


def _cheap_protection(points: dict[str, Point]) -> tuple[bool, str]:
    """A surprise-masking point extracts at most 40 % of unmasked with an NLL at most 5 % above its."""
    unmasked = points["unmasked"]
    limit, dearest = Fraction(40, 100) * unmasked.leak, 1.05 * unmasked.nll
    match = _least_leaking(points, at_most=(limit, dearest))
    return match is not None, f"{match or 'none'}; limits {_percent(limit)} at NLL {dearest:.3f}"


def _least_leaking(points: dict[str, Point], at_most: tuple[Fraction | float, float]) -> Point | None:
    """The surprise-masking point within both limits (leakage, NLL) that leaks least."""
    surprise = [point for name, point in points.items() if family(name) == "SM" and not variant(name)]
    within = [point for point in surprise if point.leak <= at_most[0] and point.nll <= at_most[1]]
    return min(within, key=lambda point: (point.leak, point.nll), default=None)


def _percent(rate: Fraction | float) -> str:
    return f"{100 * float(rate):.1f} %"


_UNMASKED = _Check(
    "unmasked-leaks",
    "Training without a mask leaks at least 60 % of the canaries.",
    ("unmasked",),
    _unmasked_leaks,
    leak=False,
)
_FLOORED = _Check(
    "sm95-protects",
    "SM95 leaks at most a tenth of that, or the base model's floor plus five points.",
    ("SM95", "unmasked", "base"),
    _sm95_protects,
)
_UNFLOORED = _Check(
    "sm95-protects",
    "SM95 leaks at most a tenth of that (the base model has seen the canaries, so it shows no floor).",
    ("SM95", "unmasked"),
    _sm95_protects_without_floor,
)
_OTHERS = (
    _Check(
        "oracle-is-no-worse",
        "The oracle leaks no more than SM95 plus five points.",
        ("oracle", "SM95"),
        _oracle_is_no_worse,
        leak=False,
    ),
    _Check(
        "random-leaks",
        "A random mask of SM95's budget still leaks at least half of unmasked.",
        ("random95", "unmasked"),
        _random_leaks,
    ),
    _Check(
        "baselines-matched",
        "For every random and Goldfish point a surprise-masking point leaks no more at no worse NLL.",
        ("SM", "random", "goldfish"),
        _baselines_are_matched,
        leak=False,
    ),
    _Check(
        "cheap-protection",
        "A surprise-masking point leaks at most 40 % of unmasked with an NLL at most 5 % above its.",
        ("SM", "unmasked"),
        _cheap_protection,
    ),
)
