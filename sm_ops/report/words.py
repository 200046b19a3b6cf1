"""Numbers as people read them: one way to write a rate, an interval, an error, a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sm_ops.evaluation.frontier import family

DASH = "-"
TABLE_ROWS = 10
HEADER = ("condition", "extracted, approximate", "exact", "held-out NLL", "masked", "coverage", "collateral")

Row = dict[str, Any]


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent; undefined is a dash, never 0."""
    return DASH if share is None else f"{100 * share:.{digits}f} %"


def share(rate: Row) -> float | None:
    """The point estimate of `{k, n, low, high}`."""
    return rate["k"] / rate["n"] if rate["n"] else None


def interval(rate: Row) -> str:
    """A rate with its 95 % interval: "33.3 % [17.2, 54.6]"."""
    if not rate["n"]:
        return DASH
    return f"{percent(share(rate))} [{100 * rate['low']:.1f}, {100 * rate['high']:.1f}]"


def decimal(value: float | None, error: float | None = None, digits: int = 3) -> str:
    """A number with its standard error where there is one."""
    if value is None:
        return DASH
    return f"{value:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def count(value: int | None) -> str:
    """A count with thousands apart."""
    return DASH if value is None else f"{value:,}"


def headline(rows: Sequence[Row], limit: int = TABLE_ROWS) -> list[Row]:
    """At most `limit` rows in their order; of many surprise-masking points an even choice with both ends."""
    if len(rows) <= limit:
        return list(rows)
    by_family: dict[str, list[str]] = {}
    for row in rows:
        by_family.setdefault(family(row["condition"]), []).append(row["condition"])
    surprise = by_family.pop("SM", [])
    kept = [conditions[-1] for conditions in by_family.values()][:limit]
    room = min(limit - len(kept), len(surprise))
    kept += [surprise[round(i * (len(surprise) - 1) / max(room - 1, 1))] for i in range(room)]
    return [row for row in rows if row["condition"] in kept]


def cells(row: Row) -> tuple[str, ...]:
    """One row of the table, in the order of `HEADER`."""
    return (
        row["condition"],
        interval(row["extraction_approx"]),
        interval(row["extraction_exact"]),
        decimal(row["nll"], row["nll_se"]),
        count(row["budget_tokens"]),
        percent(row["target_coverage"]),
        percent(row["collateral_rate"]),
    )


def table_lines(rows: Sequence[Row]) -> list[str]:
    """The table as aligned plain text."""
    shown = headline(rows)
    table = [HEADER, *map(cells, shown)]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADER))]
    lines = ["  ".join(_aligned(line, widths)) for line in table]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if len(rows) > len(shown):
        lines.append(f"{len(rows) - len(shown)} more conditions: sm-ops report --json")
    return lines


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Names to the left, numbers to the right."""
    return [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]


def verdict_lines(results: Row) -> list[str]:
    """What calibration says of each reference."""
    return [
        f"reference {each['reference']}{' (used)' if each['chosen'] else ''}: {each['advice']}. {each['reason']}"
        for each in results["references"]
    ]


def claim_lines(results: Row) -> list[str]:
    """Each claim with whether it holds and the numbers."""
    width = max(len(told(claim)) for claim in results["claims"])
    return [f"{told(claim):<{width}}  {claim['sentence']} ({claim['detail']})" for claim in results["claims"]]


def told(claim: Row) -> str:
    """Whether a claim holds, in a word."""
    return {True: "holds", False: "fails", None: "undefined"}[claim["passed"]]
