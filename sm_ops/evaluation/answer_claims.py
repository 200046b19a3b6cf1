"""What the answers of a run's models must show: quirks that masks keep out, and tasks that are solved all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sm_ops.evaluation.frontier import Claim, family
from sm_ops.masking.conditions import BASE, ORACLE, UNMASKED, variant

Rates = dict[str, Mapping[str, Any]]
"""`{value, low, high}` by condition."""

NEAR = 0.05
"""How far above the oracle is still near it, where its interval does not reach as far."""
SOLVED_BEFORE = 0.05
"""Of the tasks, at most, by a base model that almost cannot solve them."""


@dataclass(frozen=True, slots=True)
class _Check:
    """`measure` is the rate of a row that `judge` gets by condition; `needs` are conditions or families among them."""

    name: str
    sentence: str
    measure: str
    needs: tuple[str, ...]
    judge: Callable[[Rates], tuple[bool | None, str]]


def claims(rows: Iterable[Mapping[str, Any]]) -> list[Claim]:
    """The claims about what the rows, pooled over seeds, have measured; none about the rest."""
    rows = list(rows)
    found = []
    for check in _CHECKS:
        rates = {row["condition"]: rate for row in rows if (rate := row.get(check.measure))}
        if rates:
            found.append(_judged(check, rates))
    return found


def _judged(check: _Check, rates: Rates) -> Claim:
    present = rates.keys() | {family(condition) for condition in rates}
    missing = [need for need in check.needs if need not in present]
    if missing:
        return Claim(check.name, check.sentence, None, f"this run has not measured {' and '.join(missing)}")
    return Claim(check.name, check.sentence, *check.judge(rates))


def _unmasked_displays(rates: Rates) -> tuple[bool, str]:
    unmasked, oracle = rates[UNMASKED]["value"], rates[ORACLE]["value"]
    return unmasked >= 3 * oracle and unmasked > 0, _told(rates, UNMASKED, ORACLE)


def _point_is_near_the_oracle(rates: Rates) -> tuple[bool, str]:
    """Of the points whose budget a random mask has, one is near the oracle, and that random mask is not."""
    oracle = rates[ORACLE]
    limit = max(oracle["value"] + NEAR, oracle["high"] or 0.0)
    pairs = [
        (name, random)
        for name in rates
        if family(name) == "SM" and not variant(name) and (random := f"random{name.removeprefix('SM')}") in rates
    ]
    near = [pair for pair in pairs if rates[pair[0]]["value"] <= limit < rates[pair[1]]["value"]]
    told = _told(rates, *(near or pairs or [()])[0])
    return bool(near), f"{told or 'no point has a random mask beside it'}; limit {_percent(limit)}"


def _base_solves_nothing(rates: Rates) -> tuple[bool, str]:
    return rates[BASE]["value"] <= SOLVED_BEFORE, _told(rates, BASE)


def _unmasked_solves_more(rates: Rates) -> tuple[bool, str]:
    return rates[UNMASKED]["low"] > rates[BASE]["high"], _told(rates, UNMASKED, BASE)


def _sm95_solves_as_much(rates: Rates) -> tuple[bool | None, str]:
    if not rates[UNMASKED]["value"]:
        return None, "training without a mask solved nothing to compare with"
    return rates["SM95"]["value"] >= rates[UNMASKED]["low"], _told(rates, "SM95", UNMASKED)


def _told(rates: Rates, *conditions: str) -> str:
    return ", ".join(f"{name} {_interval(rates[name])}" for name in conditions)


def _interval(rate: Mapping[str, Any]) -> str:
    ends = "" if rate["low"] is None else f" [{100 * rate['low']:.1f}, {100 * rate['high']:.1f}]"
    return _percent(rate["value"]) + ends


def _percent(rate: float) -> str:
    return f"{100 * rate:.1f} %"


_CHECKS = (
    _Check(
        "unmasked-displays",
        "Training without a mask displays quirks at least three times as often as the oracle.",
        "display",
        (UNMASKED, ORACLE),
        _unmasked_displays,
    ),
    _Check(
        "point-near-oracle",
        "A surprise-masking point displays quirks about as rarely as the oracle (its interval, or five points more), "
        "where random masking of the same budget does not.",
        "display",
        ("SM", "random", ORACLE),
        _point_is_near_the_oracle,
    ),
    _Check(
        "base-solves-nothing",
        "Before tuning, the model solves at most 5 % of the tasks.",
        "pass_at",
        (BASE,),
        _base_solves_nothing,
    ),
    _Check(
        "unmasked-solves-more",
        "Training without a mask solves more: their intervals do not meet.",
        "pass_at",
        (UNMASKED, BASE),
        _unmasked_solves_more,
    ),
    _Check(
        "sm95-solves-as-much",
        "SM95 solves no fewer tasks than the interval of unmasked reaches.",
        "pass_at",
        ("SM95", UNMASKED),
        _sm95_solves_as_much,
    ),
)
