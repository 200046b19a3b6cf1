"""The main job's table, verdicts and claims as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from sm_ops.evaluation.frontier import family
from sm_ops.report.words import Row, count, decimal, interval, percent, text_table

TABLE_ROWS = 10
HEADER = ("condition", "extracted, approximate", "exact", "held-out NLL", "masked", "coverage", "collateral")


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
    lines = text_table(HEADER, map(cells, shown))
    if len(rows) > len(shown):
        lines.append(f"{len(rows) - len(shown)} more conditions: sm-ops report --json")
    return lines


def verdict_lines(results: Row) -> list[str]:
    """What calibration says of each reference."""
    return [
        f"reference {each['reference']}{' (used)' if each['chosen'] else ''}: {each['advice']}. {each['reason']}"
        for each in results["references"]
    ]
