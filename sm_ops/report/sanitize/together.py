"""Filters together, as a part of the page: combinations, each with whether it is better than its better half."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from sm_ops.report.page import html_table, remark, section
from sm_ops.report.sanitize.words import RATES, SIDES, rates, side_of
from sm_ops.report.words import count, decimal

Json = dict[str, Any]

_HOW = ("union", "intersection", "residual", "joint", "joint_intersection")


def masks(results: Json) -> Iterator[Json]:
    """Every combination on every side, a row each."""
    for each in results["combinations"]:
        for how in _HOW:
            for side in SIDES:
                if how in each and each[how][side] is not None:
                    taus = dict(zip(("surprise_tau", "other_tau"), each[how]["tau"], strict=True))
                    named = {name: each[name] for name in ("fold", "surprise", "other")}
                    yield {**named, "combination": how, "side": side, **taus, **each[how][side]}


def combinations(results: Json) -> str:
    """Masks of two filters at thresholds that validation chose, and how far the joint grid's F1 falls afterwards."""
    own = [each for each in results["combinations"] if each["fold"] == "0"]
    if not own:
        return ""
    side = side_of(results)
    rows = [
        (f"{_pair(row)}, {row['combination'].replace('_', ' ')}", *rates(row)[1:])
        for row in masks({"combinations": own})
        if row["side"] == side
    ]
    alike = [
        (_pair(each), *(decimal(each["jaccard"][kind]) for kind in SIDES), count(each["joint"]["pairs"]),
         *(decimal(each["joint"][f"{kind}_f1"]) for kind in SIDES))
        for each in own
    ]  # fmt: skip
    overlap, best = ([f"{what}, {kind}" for kind in SIDES] for what in ("Jaccard", "F1 of the best"))
    head = ("pair", *overlap, "pairs of thresholds", *best)
    note = (
        f"Rates on the {side} side. Residual: the second filter's mask, and what the first, tuned on what that leaves, "
        "masks besides. Joint: the pair of thresholds with the largest F1 on validation, of a grid; its F1 elsewhere "
        "stands beside it below. Better: the whole interval of the difference to the better half lies above 0."
    )
    told = "".join(map(_verdict, own))
    table = html_table(("pair", *RATES[1:]), rows)
    return section("Combinations", f"<ul>{told}</ul>", table, remark(note), html_table(head, alike))


def _verdict(each: Json) -> str:
    kind, word = ("holds", "better") if each["better"] else ("fails", "not better")
    return f'<li>{escape(_pair(each))}: <span class="{kind}">{word}</span>. {escape(each["reason"])}</li>'


def _pair(each: Json) -> str:
    return f"{each['surprise']} and {each['other']}"
