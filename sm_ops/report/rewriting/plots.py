"""Security, utility and cost of each condition in one figure: the area of a bubble is the cost (paper, figure 9)."""

from __future__ import annotations

from typing import Any

from sm_ops.report.figures import CYCLE, svg
from sm_ops.report.labels import label_points

Json = dict[str, Any]

KINDS = {"unmodified": "#666666", "direct": CYCLE[1], "route": CYCLE[0], "rewrite": CYCLE[2]}
LARGEST, SMALLEST = 900.0, 20.0
"""Areas in points squared of the dearest condition, and of one that costs nothing or is of unknown cost."""


def tradeoff_svg(results: Json, utility: str) -> str | None:
    """Security by utility; None where no condition has both."""
    rows = [row for row in results["rows"] if _defined(row["security"]) and _defined(row["utility"])]
    if not rows:
        return None
    dearest = max((row["usd"] or 0.0 for row in rows), default=0.0)

    def draw(axes: Any) -> None:
        points = []
        for row in rows:
            x, y = row["utility"]["value"], row["security"]["value"]
            area = SMALLEST + (LARGEST - SMALLEST) * (row["usd"] or 0.0) / dearest if dearest else SMALLEST
            colour = KINDS[row["kind"]]
            axes.scatter([x], [y], s=area, color=colour, alpha=0.45, linewidth=0)
            axes.errorbar([x], [y], xerr=_reach(row["utility"]), yerr=_reach(row["security"]), color=colour, lw=0.8)
            points.append((x, y, row["condition"], colour))
        axes.set(xlabel=f"{utility} (right is better)", ylabel="security (up is better)")
        axes.margins(0.15)
        axes.autoscale_view()
        label_points(axes, points)

    return svg("tradeoff", "Security against utility, bubbles by cost", (6.4, 4.6), draw)


def _defined(value: Json | None) -> bool:
    return value is not None and value["value"] is not None


def _reach(value: Json) -> list[list[float]] | None:
    if value["low"] is None:
        return None
    return [[value["value"] - value["low"]], [value["high"] - value["value"]]]
