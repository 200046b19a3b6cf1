"""Figures as SVG strings: self-contained, the same bytes for the same numbers, readable on a phone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sm_ops.evaluation.frontier import family
from sm_ops.masking.conditions import BASE, variant
from sm_ops.report.figures import FAINT, GREY, INK, svg
from sm_ops.report.labels import label_ends, label_lines, label_points
from sm_ops.report.surprise.measures import (
    COLLATERAL,
    COVERAGE,
    EXTRACTION,
    PASS,
    Measure,
    outcome_of,
    utilities_of,
)

Json = dict[str, Any]

COLOURS = {  # Okabe and Ito's palette: apart from each other for every kind of colour vision
    "SM": "#0072b2",
    "unmasked": "#d55e00",
    "random": "#b87700",
    "goldfish": "#b0568f",
    "oracle": "#009e73",
    "detector": "#5a5a00",
    "base": GREY,
}
MARKS = {
    "SM": "o", "unmasked": "s", "random": "^", "goldfish": "D", "oracle": "*", "detector": "v", "base": "x",
}  # fmt: skip
OTHER_COLOUR, OTHER_MARK = "#3b8fb8", "P"
"""Of baselines that have none of their own."""

_HALF = 50.0
_ABOVE = {"loc": "lower left", "bbox_to_anchor": (0, 1.02), "ncols": 3, "columnspacing": 1.0, "handlelength": 1.2}


def frontier_svg(results: Json, utility: Measure | None = None) -> str:
    """What is not wanted against utility, with the path of the surprise-masking points and the base model's level.

    `utility` is by default the first that was measured: answers that pass, else a likelihood.
    """
    outcome = outcome_of(results["rows"])
    utility = utility or utilities_of(results["rows"])[0]
    rows, seeds = (_standing(results[name], utility, outcome) for name in ("rows", "per_seed"))

    def draw(axes: Any) -> None:
        path = [row for row in rows if family(row["condition"]) == "SM" and not variant(row["condition"])]
        x, y = [utility.at(row) for row in path], [outcome.at(row) for row in path]
        axes.plot(x, y, color=COLOURS["SM"], linewidth=1.4)
        _points(axes, rows, seeds, utility, outcome)
        _floor(axes, results, outcome)
        axes.plot([], [], ".", color=FAINT, markersize=4, label="one seed")
        axes.errorbar([], [], yerr=[], fmt="o", color=FAINT, label="95 % interval")
        axes.legend(**_ABOVE)
        axes.set_xlabel(f"{utility.axis} ({'left' if utility.better == 'lower' else 'right'} is better)")
        axes.set_ylabel(f"{outcome.axis} (down is better)")

    name = f"frontier-{utility.name}" if utility is PASS else "frontier"
    return svg(name, "Leakage against utility by condition", (5.0, 4.2), draw, above=0.35)


def coverage_svgs(results: Json) -> list[str]:
    """Coverage against outcome: the outcome by target coverage, and each utility by collateral masking rate."""
    rows, seeds = results["rows"], results["per_seed"]
    outcome = outcome_of(rows)

    def leakage(axes: Any) -> None:
        _points(axes, _standing(rows, COVERAGE, outcome), _standing(seeds, COVERAGE, outcome), COVERAGE, outcome)
        axes.set(xlabel=COVERAGE.axis, ylabel=outcome.axis)

    def by_collateral(utility: Measure) -> Callable[[Any], None]:
        def draw(axes: Any) -> None:
            collateral_scale(axes)
            pooled, single = (_standing(each, COLLATERAL, utility) for each in (rows, seeds))
            _points(axes, pooled, single, COLLATERAL, utility)
            axes.set(xlabel=f"{COLLATERAL.axis} (square-root scale)", ylabel=utility.axis)
            collateral_ticks(axes)

        return draw

    size = (4.6, 3.4)
    return [
        svg("coverage", f"{outcome.title} by target coverage", size, leakage),
        *(
            svg(f"utility-{each.name}", f"{each.title} by collateral masking rate", size, by_collateral(each))
            for each in utilities_of(rows)
        ),
    ]


def collateral_scale(axes: Any) -> None:
    """A square-root scale along x: the cheap conditions lie close together."""
    axes.set_xscale("function", functions=(_root, _square))


def collateral_ticks(axes: Any) -> None:
    """Round percentages along x, once the points are drawn."""
    axes.set_xticks([tick for tick in (0, 1, 5, 10, 20, 40, 60, 80, 100) if tick <= axes.get_xlim()[1]])


def histogram_svg(histogram: Json, points: Sequence[Json], ranks: bool = False) -> str:
    """Critical values of target and of other validation tokens; each operating point's threshold is a line.

    `ranks`: values are minus the rank among neighbours, in percent (a local rule), and no scores in nats.
    """

    def draw(axes: Any) -> None:
        series = {"other": (FAINT, None), "target": (COLOURS["unmasked"], "////")}
        for (name, (colour, hatch)), never in zip(series.items(), reversed(histogram["never"]), strict=True):
            total = sum(histogram[name]) + never
            shares = [100 * n / (total or 1) for n in histogram[name]]
            style = {"facecolor": colour, "edgecolor": colour, "hatch": hatch, "alpha": 0.5, "fill": True}
            axes.stairs(shares, histogram["edges"], label=f"{name} tokens ({total:,})", **style)
        reached = [(point["tau"], point["condition"]) for point in points if point["tau"] is not None]
        for tau, _ in reached:
            axes.axvline(tau, color=INK, linewidth=0.9, linestyle=(0, (4, 2)))
        label_lines(axes, reached)
        score = "minus the rank among neighbours, %" if ranks else "score, nats"
        axes.set(xlabel=f"{score} (each line masks what lies right of it)", ylabel="share of tokens, %")
        axes.margins(y=0.35)  # room for the legend above the bars
        axes.legend(loc="upper left")

    return svg("histogram", "Scores of target and of other tokens", (5.0, 3.2), draw, above=0.5)


def budget_svg(results: Json) -> str:
    """Approximate extraction within the first b continuations, one line a condition."""
    curves: dict[str, list[Json]] = {}
    for point in results["curve"]:
        if EXTRACTION.at(point) is not None:
            curves.setdefault(point["condition"], []).append(point)

    def draw(axes: Any) -> None:
        for condition, points in curves.items():
            x, y = [point["budget"] for point in points], [EXTRACTION.at(point) for point in points]
            axes.plot(x, y, color=colour(condition), marker=mark(condition), markersize=4, linewidth=1.2)
        budgets = sorted({point["budget"] for points in curves.values() for point in points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(budgets, [str(budget) for budget in budgets])
        axes.set(xlabel="continuations sampled for a canary", ylabel=EXTRACTION.axis, ylim=(-4, 104))
        last = [(name, points[-1]) for name, points in curves.items()]
        ends = [(point["budget"], EXTRACTION.at(point) or 0.0, name, colour(name)) for name, point in last]
        label_ends(axes, ends, apart=6.5)

    return svg("budget", "Extraction by the attacker's budget", (5.0, 3.4), draw, right=0.95)


def colour(condition: str) -> str:
    """A condition's colour in every figure."""
    return COLOURS.get(family(condition), OTHER_COLOUR)


def mark(condition: str) -> str:
    """A condition's mark in every figure."""
    return MARKS.get(family(condition), OTHER_MARK)


def share_limits(axes: Any, measure: Measure) -> None:
    """The whole axis for a share that reaches its middle, else what is drawn: from nothing on."""
    if measure.share:
        top = axes.get_ylim()[1]
        axes.set_ylim(*((-4, 104) if top > _HALF else (-0.04 * top, top)))


def _points(axes: Any, rows: Sequence[Json], seeds: Sequence[Json], x: Measure, y: Measure) -> None:
    """Seeds as dots, pooled rows as named marks with intervals, or standard errors over seeds."""
    for row in seeds:
        axes.plot(x.at(row), y.at(row), ".", color=colour(row["condition"]), markersize=4, alpha=0.6)
    for row in rows:
        condition = row["condition"]
        size = 10 if mark(condition) == "*" else 6.5
        style = {"fmt": mark(condition), "markersize": size, "color": colour(condition), "markeredgecolor": "white"}
        errors = {"xerr": _bar(x.reach(row)), "yerr": _bar(y.reach(row))}
        axes.errorbar(x.at(row), y.at(row), **errors, **style, markeredgewidth=0.7, elinewidth=1)
    axes.margins(x=0.17, y=0.12)
    axes.autoscale_view()
    share_limits(axes, y)
    named = [(x.at(row) or 0.0, y.at(row) or 0.0, row["condition"], colour(row["condition"])) for row in rows]
    bars = [
        (across, up - reach[0], up + reach[1])
        for (across, up, *_), row in zip(named, rows, strict=True)
        if (reach := y.reach(row)) is not None and y.share
    ]
    label_points(axes, named, bars)


def _standing(rows: Sequence[Json], x: Measure, y: Measure) -> list[Json]:
    """Trained conditions that both measures know."""
    return [row for row in rows if row["condition"] != BASE and x.at(row) is not None and y.at(row) is not None]


def _bar(reach: tuple[float, float] | None) -> list[list[float]] | None:
    """An error bar as matplotlib wants it."""
    return None if reach is None else [[reach[0]], [reach[1]]]


def _floor(axes: Any, results: Json, outcome: Measure) -> None:
    """The base model's level: chance, where it never saw the private values or forms."""
    name = "chance floor" if results["run"]["floor"] else "before the masks"
    for row in results["rows"]:
        if row["condition"] == BASE and (level := outcome.at(row)) is not None:
            style = {"color": COLOURS["base"], "linewidth": 1, "linestyle": (0, (1, 2))}
            axes.axhline(level, label=f"{name} {level:.1f} %", **style)


def _root(x: Any) -> Any:
    import numpy as np

    return np.sign(x) * np.sqrt(np.abs(x))


def _square(x: Any) -> Any:
    import numpy as np

    return np.sign(x) * np.square(x)
