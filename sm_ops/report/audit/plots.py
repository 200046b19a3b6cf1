"""Figures of an audit as SVG: leakage against perplexity, and leakage along whatever an attack was measured by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sm_ops.attacks.measures import is_rate
from sm_ops.masking.conditions import BASE
from sm_ops.report.audit.words import in_words
from sm_ops.report.figures import CYCLE, GREY, panels
from sm_ops.report.labels import label_points

Json = dict[str, Any]

_MARKS = ("s", "o", "^", "D", "v", "P", "X", "*")
_FAR = 4
"""Perplexities of which the largest is so many times the smallest are drawn on a logarithmic scale."""


def leakage_svg(results: Json) -> str | None:
    """A panel an attack: its headline measure by held-out perplexity, each defence named at its point."""
    names = [row["defence"] for row in results["rows"]]
    by_title = {}
    for each in results["tried"]:
        attack = each["attack"]
        rows = [r for r in results["rows"] if _defined(r["perplexity"]) and _defined(r["leakage"][attack])]
        if rows:
            by_title[f"{attack}: {each['measure']}"] = (attack, rows)

    def draw(axes: Any, title: str) -> None:
        attack, rows = by_title[title]
        perplexities = [row["perplexity"]["value"] for row in rows]
        if max(perplexities) > _FAR * min(perplexities):
            _logarithmic(axes)
        points, bars = [], []
        for row in rows:
            x, y = row["perplexity"], row["leakage"][attack]
            scale, name = _scale(y), row["defence"]
            colour, mark = _look(name, names)
            reach = {"xerr": _reach(x, 1), "yerr": _reach(y, scale)}
            axes.errorbar(x["value"], scale * y["value"], **reach, color=colour, fmt=mark, markersize=6, elinewidth=0.9)
            points.append((x["value"], scale * y["value"], name, colour))
            if _bounded(y):
                bars.append((x["value"], scale * y["low"], scale * y["high"]))
        axes.margins(x=0.2, y=0.15)
        axes.autoscale_view()
        unit = ", %" if is_rate(rows[0]["leakage"][attack]) else ""
        axes.set(
            xlabel="held-out perplexity (left is better)",
            ylabel=f"{in_words(rows[0]['leakage'][attack]['measure'])}{unit} (down is better)",
        )
        axes.set_title(title, fontsize=10, loc="left")
        label_points(axes, points, bars)

    return panels("leakage", "Leakage against held-out perplexity", list(by_title), draw)


def along_svg(name: str, results: Json, measures: Sequence[Json], label: str, what: str) -> str | None:
    """A panel an attack: measures by the value of `label`, a line a defence with its intervals.

    Numbers have their place on the axis; ranges as "3-4" follow each other, and the lines stand a little apart.
    """
    names = [row["defence"] for row in results["rows"]]
    by_attack: dict[str, list[Json]] = {}
    for measure in measures:
        if _defined(measure):
            by_attack.setdefault(measure["attack"], []).append(measure)

    def draw(axes: Any, attack: str) -> None:
        own = by_attack[attack]
        ranges = sorted({m[label] for m in own if isinstance(m[label], str)}, key=_first)
        lines = [line for each in names if (line := [m for m in own if m["defence"] == each])]
        for at, line in enumerate(lines):
            shift = 0.4 * (at - (len(lines) - 1) / 2) / len(lines)
            line.sort(key=lambda m: _first(m[label]))
            x = [ranges.index(m[label]) + shift if ranges else m[label] for m in line]
            reach = [_reach(m, _scale(m)) or [[0.0], [0.0]] for m in line]
            colour, mark = _look(line[0]["defence"], names)
            axes.errorbar(
                x, [_scale(m) * m["value"] for m in line],
                yerr=[[down[0] for down, _ in reach], [up[0] for _, up in reach]],
                color=colour, marker=mark, markersize=4, linewidth=1, elinewidth=0.7, label=line[0]["defence"],
            )  # fmt: skip
        if ranges:
            axes.set_xticks(range(len(ranges)), ranges)
        axes.set(xlabel=what, ylabel=in_words(own[0]["measure"]) + (", %" if is_rate(own[0]) else ""))
        axes.set_title(attack, fontsize=10, loc="left")

    return panels(name, f"Leakage by {what}", list(by_attack), draw, named=True)


def _first(value: int | str) -> int:
    """Where a number or a range begins."""
    return int(str(value).rstrip("+").partition("-")[0])


def _look(defence: str, names: Sequence[str]) -> tuple[str, str]:
    """Colour and mark of a defence: by its place among the run's, the same in all figures."""
    if defence == BASE:
        return GREY, "x"
    at = names.index(defence) - 1
    return CYCLE[at % len(CYCLE)], _MARKS[at % len(_MARKS)]


def _logarithmic(axes: Any) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _scale(measure: Json) -> float:
    return 100.0 if is_rate(measure) else 1.0


def _defined(measure: Json | None) -> bool:
    return measure is not None and measure["value"] is not None


def _bounded(measure: Json) -> bool:
    return measure["low"] is not None and measure["high"] is not None


def _reach(measure: Json, scale: float) -> list[list[float]] | None:
    """How far an interval goes down and up, as matplotlib wants it; None where there is none."""
    if not _bounded(measure):
        return None
    down, up = measure["value"] - measure["low"], measure["high"] - measure["value"]
    return [[scale * max(0.0, down)], [scale * max(0.0, up)]]
