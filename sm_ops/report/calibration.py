"""A calibration as people read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sm_ops.report.words import DASH, decimal, percent

HEADER = f"{'point':<12} {'threshold':>10} {'coverage':>9} {'95 % interval':>16} {'collateral':>11} {'masked':>9}"


def lines(report: dict[str, Any]) -> Iterator[str]:
    """The rule, its operating points, how far they hold elsewhere, and the verdict last."""
    rule = report["rule"]
    windows = f"windows of {rule['n']} tokens" if rule["windows"] == "fixed" else f"{rule['windows']} windows"
    scope = f"propagation within {rule['propagate']}" if rule["propagate"] != "none" else "no propagation"
    yield f"rule: {rule['select']}, {windows} ({rule['agg']}), {rule['k']} votes, {scope}"
    yield (
        f"validation: {report['target_tokens']:,} target tokens of {report['independent_units']} independent units, "
        f"{report['other_tokens']:,} others, AUROC {decimal(report['auroc'])}"
    )
    if len(report["by_label"]) > 1:
        by_label = report["by_label"].items()
        told = (f"{name} {decimal(each['auroc'])} ({each['target_tokens']:,})" for name, each in by_label)
        yield f"AUROC by label (tokens): {', '.join(told)}"
    for kind, each in report.get("candidates", {}).items():
        yield f"  rule of {kind}: {_affordable(each['acceptable'], report)}"
    yield HEADER
    named = {"maxF1": report["max_f1"], "acceptable": report["acceptable"]}
    for name, point in {**report["points"], **named}.items():
        yield _row(name, point)
    for name, point in report.get("categories", {}).get("thresholds", {}).items():
        yield f"{'  ' + name:<12} {decimal(point['tau']):>10}   F1 {decimal(point['f1'])}"
    if beside := report.get("other"):
        yield f"beside the other filter (Jaccard {decimal(beside['jaccard'])}):"
        for name in ("alone", "union", "intersection", "residual"):
            rates = beside[name]
            yield f"  {name:<12} covers {percent(rates['target_coverage'])} for {percent(rates['collateral_rate'])}"
    if check := report.get("verification"):
        told = "holds" if check["holds"] else "does not hold"
        yield (
            f"verified on records that did not choose it: {check['point']} covers {percent(check['target_coverage'])} "
            f"{_interval(check['interval'])} for {percent(check['collateral_rate'])} of the others: it {told}"
        )
    if other := report.get("application"):
        yield f"application records: {_affordable(other['acceptable'], report)}, {_gap(other['gap'])}"
        for name, point in other["points"].items():
            yield _row(f"  {name}", point)
    yield f"{report['verdict']['advice']}: {report['verdict']['reason']}"


def _row(name: str, point: dict[str, Any]) -> str:
    return (
        f"{name:<12} {decimal(point['tau']):>10} {percent(point['target_coverage']):>9} "
        f"{_interval(point['interval']):>16} {percent(point['collateral_rate']):>11} {point['masked']:>9,}"
    )


def _interval(ends: list[float] | None) -> str:
    return DASH if ends is None else f"[{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]"


def _affordable(point: dict[str, Any], report: dict[str, Any]) -> str:
    return (
        f"{percent(point['target_coverage'])} of the targets at a collateral rate of at most "
        f"{percent(report['acceptable_collateral'])}"
    )


def _gap(gap: float | None) -> str:
    if gap is None:
        return "which cannot be compared"
    return f"{abs(100 * gap):.1f} points {'less' if gap > 0 else 'more'} than on validation"
