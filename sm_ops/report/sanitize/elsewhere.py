"""Thresholds and figures elsewhere, as parts of the page: other regimes, categories by an oracle, other folds."""

from __future__ import annotations

from typing import Any

from sm_ops.report.page import html_table, remark, section
from sm_ops.report.sanitize.words import SIDES
from sm_ops.report.words import DASH, decimal, numbered

Json = dict[str, Any]

_POLICIES = {"pooled": "one for all", "by_category": "by category", "by_context": "by context"}


def regimes(results: Json) -> str:
    """Thresholds chosen on one part of the corpus and used on another (paper, table 12)."""
    found = (results["transfer"] or {}).get("regimes") or {}
    rows = [
        (
            f"{name}, {each['regime']}",
            decimal(each["tau"]),
            *(numbered(each[side] and each[side]["f1"]) for side in ("validation", "id", "ood")),
            numbered(each["native"] and each["native"]["ood"] and each["native"]["ood"]["f1"]),
            numbered(each["loss"]),
            f"{_listed(each['inside'])} to {_listed(each['outside'])}",
        )
        for name, own in found.items()
        for each in own
    ]
    if not rows:
        return ""
    f1 = ("F1, validation", "in distribution", "out of distribution", "native threshold there")
    note = (
        "Native: the best threshold of the other part itself, which takes its labels. Loss: what the carried threshold "
        "gives away against it."
    )
    table = html_table(("filter, regime", "threshold", *f1, "loss", "chosen on, used on"), rows)
    return section("Thresholds elsewhere", table, remark(note))


def by_category(results: Json) -> str:
    """One pooled threshold against one for each gold category, which nobody has at application (paper, table 11)."""
    found = {name: each for name, each in ((results["transfer"] or {}).get("oracle") or {}).items() if each}
    if not found:
        return ""
    rows = [
        (
            f"{name}, {told}",
            *(numbered(each[policy][side] and each[policy][side]["f1"]) for side in SIDES),
            numbered(each[policy].get("gain")),
        )
        for name, each in found.items()
        for policy, told in _POLICIES.items()
    ]
    note = (
        "By category: a category's threshold is chosen on its units among all other content; by context: on the "
        "records of that category alone. Gain: in F1 over one threshold for all."
    )
    table = html_table(("filter, thresholds", *(f"F1, {side}" for side in SIDES), "gain"), rows)
    labels = dict.fromkeys(f"More than one threshold {each['label']}." for each in found.values())
    return section("Thresholds by category", table, remark(" ".join((*labels, note))))


def over_folds(results: Json) -> str:
    """Means and standard deviations over folds."""
    folds = results["folds"]
    if folds is None:
        return ""
    names = ("auroc", "tpr", "fpr", "precision", "f1")
    rows = [
        (f"{name}, {side}", *(_spread(own[side].get(rate)) for rate in names))
        for name, own in folds["filters"].items()
        for side in SIDES
        if own[side]
    ]
    note = "Mean and standard deviation over folds; no group is on both sides of one. Other tables: the first fold."
    header = ("filter, side", "AUROC", "coverage", "collateral", "precision", "F1")
    return section(f"Over {folds['folds']} folds", html_table(header, rows), remark(note))


def _spread(value: Json | None) -> str:
    return DASH if value is None or value["mean"] is None else decimal(value["mean"], value["sd"])


def _listed(names: Any) -> str:
    return names if isinstance(names, str) else ", ".join(names)
