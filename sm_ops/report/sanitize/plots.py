"""Figures of a sanitization: what filters cover against what they take along, and how precise that is."""

from __future__ import annotations

from typing import Any

from sm_ops.report.figures import CYCLE, FAINT, GREY, panels

Json = dict[str, Any]

_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
ALL, NEAR, PRECISE = "All thresholds", "Around the acceptable rate", "Precision by coverage"
_ZOOM = 2.5
"""The second panel ends at so many times the acceptable rate."""


def curves_svg(results: Json) -> str:
    """Coverage against collateral and precision against coverage, of every filter and union of the first fold."""
    lines: dict[str, dict[str, list[Json]]] = {}
    for point in results["curves"]:
        if point["fold"] == "0":
            lines.setdefault(point["filter"], {}).setdefault(point["side"], []).append(point)
    points = {row["filter"]: row for row in results["rows"] if row["fold"] == "0"}
    acceptable = 100 * results["asked"]["acceptable_collateral"]

    def draw(axes: Any, title: str) -> None:
        x, y = ("tpr", "precision") if title == PRECISE else ("fpr", "tpr")
        for at, (name, sides) in enumerate(lines.items()):
            colour, mark = CYCLE[(at + 1) % len(CYCLE)], _MARKS[at % len(_MARKS)]
            own = points.get(name)
            graded = own is None or own["chosen"] != "own"
            for side, line in sides.items():
                known = [point for point in line if point.get(x) is not None and point.get(y) is not None]
                if graded:
                    xs, ys = [100 * point[x] for point in known], [100 * point[y] for point in known]
                    axes.plot(xs, ys, color=colour, linewidth=1.3, linestyle=_line(side, union=own is None))
                if own is not None and own[side][x]["value"] is not None and own[side][y]["value"] is not None:
                    fill = colour if side == "application" else "white"
                    place = 100 * own[side][x]["value"], 100 * own[side][y]["value"]
                    axes.plot(*place, mark, color=colour, markerfacecolor=fill, markersize=6)
            line = "-" if graded else "none"
            axes.plot([], [], linestyle=line, marker=mark if own else "", color=colour, label=name)
        if title != PRECISE:
            axes.axvline(acceptable, color=GREY, linewidth=0.9, linestyle=(0, (4, 2)))
            axes.plot([0, 100], [0, 100], color=FAINT, linewidth=0.8, linestyle=(0, (1, 2)))
            axes.set(xlabel="other content masked, %", ylabel="targets masked, %")
        else:
            axes.set(xlabel="targets masked, %", ylabel="share of targets in the mask, %")
        end = min(100.0, max(5.0, _ZOOM * acceptable)) if title == NEAR else 102
        axes.set(xlim=(-end / 50, end), ylim=(-2, 102))
        axes.set_title(title, fontsize=10, loc="left")

    return panels("curves", "Coverage against collateral", (ALL, NEAR, PRECISE), draw, columns=3, named=True) or ""


def _line(side: str, union: bool) -> Any:
    """A union's line is dotted, wider apart on validation; a filter's is dashed there and whole on application data."""
    if side == "validation":
        return (0, (1, 3)) if union else (0, (4, 2))
    return (0, (1, 1)) if union else "-"
