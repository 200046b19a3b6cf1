"""Figures as SVG strings: self-contained, the same bytes for the same numbers, readable on a phone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sm_ops.evaluation.frontier import family
from sm_ops.masking.conditions import BASE, variant
from sm_ops.report.figures import FAINT, GREY, INK, svg
from sm_ops.report.labels import label_ends, label_lines, label_points
from sm_ops.report.words import percent, share

Json = dict[str, Any]

COLOURS = {  # Okabe and Ito's palette: apart from each other for every kind of colour vision
    "SM": "#0072b2",
    "unmasked": "#d55e00",
    "random": "#b87700",
    "goldfish": "#b0568f",
    "oracle": "#009e73",
    "base": GREY,
}
MARKS = {"SM": "o", "unmasked": "s", "random": "^", "goldfish": "D", "oracle": "*", "base": "x"}
OTHER_COLOUR, OTHER_MARK = "#3b8fb8", "P"
"""Of baselines that have none of their own."""

_ABOVE = {"loc": "lower left", "bbox_to_anchor": (0, 1.02), "ncols": 3, "columnspacing": 1.0, "handlelength": 1.2}


def frontier_svg(results: Json) -> str:
    """Extraction against held-out NLL, with the path of the surprise-masking points and the chance floor."""
    rows = [row for row in results["rows"] if row["condition"] != BASE and _measured(row)]
    seeds = [row for row in results["per_seed"] if row["condition"] != BASE and _measured(row)]

    def draw(axes: Any) -> None:
        path = [row for row in rows if family(row["condition"]) == "SM" and not variant(row["condition"])]
        axes.plot([row["nll"] for row in path], [_rate(row) for row in path], color=COLOURS["SM"], linewidth=1.4)
        _points(axes, rows, seeds, x=_nll, y=_rate)
        _floor(axes, results)
        axes.plot([], [], ".", color=FAINT, markersize=4, label="one seed")
        axes.errorbar([], [], yerr=[], fmt="o", color=FAINT, label="95 % interval")
        axes.legend(**_ABOVE)
        axes.set(xlabel="held-out NLL, nats per token (left is better)", ylim=(-4, 104))
        axes.set_ylabel("canaries extracted, % (down is better)")

    return svg("frontier", "Leakage against utility by condition", (5.0, 4.2), draw, above=0.35)


def coverage_svgs(results: Json) -> tuple[str, str]:
    """Coverage against outcome: extraction by target coverage, and NLL by collateral masking rate."""
    rows = [row for row in results["rows"] if row["target_coverage"] is not None and _measured(row)]
    seeds = [row for row in results["per_seed"] if row["target_coverage"] is not None and _measured(row)]

    def extraction(axes: Any) -> None:
        _points(axes, rows, seeds, x=lambda row: 100 * row["target_coverage"], y=_rate)
        axes.set(xlabel="target tokens masked, %", ylabel="canaries extracted, %")

    def utility(axes: Any) -> None:
        axes.set_xscale("function", functions=(_root, _square))  # the cheap conditions lie close together
        _points(axes, rows, seeds, x=lambda row: 100 * (row["collateral_rate"] or 0.0), y=_nll)
        axes.set(xlabel="other tokens masked, % (square-root scale)", ylabel="held-out NLL, nats")
        axes.set_xticks([tick for tick in (0, 1, 5, 10, 20, 40, 60, 80, 100) if tick <= axes.get_xlim()[1]])

    size = (4.6, 3.4)
    return (
        svg("coverage", "Extraction by target coverage", size, extraction),
        svg("utility", "Held-out NLL by collateral masking rate", size, utility),
    )


def histogram_svg(histogram: Json, points: Sequence[Json]) -> str:
    """Critical values of target and of other validation tokens; each operating point's threshold is a line."""

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
        axes.set(xlabel="score, nats (each line masks what lies right of it)", ylabel="share of tokens, %")
        axes.margins(y=0.35)  # room for the legend above the bars
        axes.legend(loc="upper left")

    return svg("histogram", "Scores of target and of other tokens", (5.0, 3.2), draw, above=0.5)


def budget_svg(results: Json) -> str:
    """Approximate extraction within the first b continuations, one line a condition."""
    curves: dict[str, list[Json]] = {}
    for point in results["curve"]:
        if _attacked(point):
            curves.setdefault(point["condition"], []).append(point)

    def draw(axes: Any) -> None:
        for condition, points in curves.items():
            x, y = [point["budget"] for point in points], [_rate(point) for point in points]
            axes.plot(x, y, color=_colour(condition), marker=_mark(condition), markersize=4, linewidth=1.2)
        budgets = sorted({point["budget"] for points in curves.values() for point in points})
        axes.set_xscale("log", base=2)
        axes.set_xticks(budgets, [str(budget) for budget in budgets])
        axes.set(xlabel="continuations sampled for a canary", ylabel="canaries extracted, %", ylim=(-4, 104))
        ends = [(points[-1]["budget"], _rate(points[-1]), name, _colour(name)) for name, points in curves.items()]
        label_ends(axes, ends, apart=6.5)

    return svg("budget", "Extraction by the attacker's budget", (5.0, 3.4), draw, right=0.95)


def _points(
    axes: Any, rows: Sequence[Json], seeds: Sequence[Json], x: Callable[[Json], float], y: Callable[[Json], float]
) -> None:
    """Seeds as dots, pooled rows as named marks with the intervals of rates and the standard errors of NLLs."""
    for row in seeds:
        axes.plot(x(row), y(row), ".", color=_colour(row["condition"]), markersize=4, alpha=0.6)
    for row in rows:
        errors = {"yerr": _reach(row["extraction_approx"]) if y is _rate else row["nll_se"]}
        errors["xerr"] = row["nll_se"] if x is _nll else None
        name = family(row["condition"])
        mark = {"fmt": _mark(name), "markersize": 10 if name == "oracle" else 6.5, "color": _colour(name)}
        axes.errorbar(x(row), y(row), **errors, **mark, markeredgecolor="white", markeredgewidth=0.7, elinewidth=1)
    axes.margins(x=0.17, y=0.12)
    axes.autoscale_view()
    if y is _rate:
        axes.set_ylim(-4, 104)
    bars = [(x(row), 100 * row["extraction_approx"]["low"], 100 * row["extraction_approx"]["high"]) for row in rows]
    named = [(x(row), y(row), row["condition"], _colour(row["condition"])) for row in rows]
    label_points(axes, named, bars if y is _rate else ())


def _floor(axes: Any, results: Json) -> None:
    """The base model never saw the canaries: what it extracts is chance."""
    for row in results["rows"]:
        if row["condition"] == BASE and _attacked(row):
            floor = f"chance floor {percent(share(row['extraction_approx']))}"
            axes.axhline(_rate(row), color=COLOURS["base"], linewidth=1, linestyle=(0, (1, 2)), label=floor)


def _root(x: Any) -> Any:
    import numpy as np

    return np.sign(x) * np.sqrt(np.abs(x))


def _square(x: Any) -> Any:
    import numpy as np

    return np.sign(x) * np.square(x)


def _colour(condition: str) -> str:
    return COLOURS.get(family(condition), OTHER_COLOUR)


def _mark(condition: str) -> str:
    return MARKS.get(family(condition), OTHER_MARK)


def _nll(row: Json) -> float:
    return row["nll"]


def _rate(row: Json) -> float:
    """Approximate extraction in percent."""
    return 100 * (share(row["extraction_approx"]) or 0.0)


def _reach(rate: Json) -> list[list[float]]:
    """How far a rate's interval goes down and up, in percent points, as matplotlib wants it."""
    middle = share(rate) or 0.0
    return [[100 * max(0.0, middle - rate["low"])], [100 * max(0.0, rate["high"] - middle)]]


def _attacked(row: Json) -> bool:
    return row["extraction_approx"]["n"] > 0


def _measured(row: Json) -> bool:
    return _attacked(row) and row["nll"] is not None
