"""Figure 4: outcome by target coverage, pass@k and perplexity by collateral masking rate, a row for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sm_ops.evaluation.frontier import family
from sm_ops.masking.conditions import variant
from sm_ops.report.figures import GREY, panels
from sm_ops.report.surprise.measures import (
    COLLATERAL,
    COVERAGE,
    DISPLAY,
    EXTRACTION,
    PASS,
    PERPLEXITY,
    Measure,
)
from sm_ops.report.surprise.plots import MARKS, collateral_scale, collateral_ticks, colour, mark, share_limits

Json = dict[str, Any]

_STYLES = {"fine-tuning": "-", "pretraining": (0, (4, 2))}
_COLUMNS = 3
_LEAKED = {measure.name: measure for measure in (EXTRACTION, DISPLAY)}
_EMPTY = "not measured"


def figure_svg(points: Sequence[Json]) -> str:
    """Filled marks and solid lines: fine-tuning; hollow and dashed: pretraining. Lines join the SM points of a run."""
    by_title: dict[str, list[Json]] = {}
    for point in points:
        by_title.setdefault(point["title"], []).append(point)
    titles = [f"{title}|{column}" for title in by_title for column in range(_COLUMNS)]

    def draw(axes: Any, title: str) -> None:
        name, _, column = title.rpartition("|")
        own = by_title[name]
        x, y, read = _panel(int(column), own)
        if x is COLLATERAL:
            collateral_scale(axes)
        shown = [(point, 100 * point[x.name], level) for point in own if (level := _level(point, read, y)) is not None]
        for run in dict.fromkeys(point["run"] for point, *_ in shown):
            path = [(across, up) for point, across, up in shown if point["run"] == run and _is_point(point)]
            regime = next(point["regime"] for point, *_ in shown if point["run"] == run)
            axes.plot(*zip(*sorted(path), strict=True) if path else ([], []), linestyle=_STYLES[regime],
                      color=colour("SM95"), linewidth=1.1)  # fmt: skip
        for point, across, up in shown:
            _mark(axes, point, across, up)
        if shown:
            axes.margins(x=0.08, y=0.12)
            axes.autoscale_view()
            share_limits(axes, y)
        else:
            axes.text(0.5, 0.5, _EMPTY, transform=axes.transAxes, ha="center", color=GREY)
            axes.set(xticks=[], yticks=[])
        axes.set(xlabel=x.axis, ylabel=y.axis)
        if x is COLLATERAL and shown:
            collateral_ticks(axes)
        axes.set_title(name, fontsize=10, loc="left")
        _legend(axes)

    return panels("coverage-outcome", "Mask coverage and outcomes", titles, draw, columns=_COLUMNS, named=True) or ""


def _panel(column: int, points: Sequence[Json]) -> tuple[Measure, Measure, str]:
    """Both axes of a panel and the field that its height is read from."""
    if column == 0:
        leaked = next((point["outcome"] for point in points if point["outcome"]), EXTRACTION.name)
        return COVERAGE, _LEAKED[leaked], "outcome_rate"
    return (COLLATERAL, PASS, PASS.name) if column == 1 else (COLLATERAL, PERPLEXITY, PERPLEXITY.name)


def _level(point: Json, name: str, measure: Measure) -> float | None:
    """Where a point stands; one that was measured otherwise than the panel tells stands nowhere."""
    if name == "outcome_rate" and point["outcome"] != measure.name:
        return None
    found = point[name]
    return None if found is None else (100 if measure.share else 1) * found["value"]


def _mark(axes: Any, point: Json, across: float, up: float) -> None:
    own = colour(point["condition"])
    inside = own if point["regime"] == "fine-tuning" else "white"
    style = {"markerfacecolor": inside, "markeredgecolor": own, "markersize": 6, "linestyle": ""}
    axes.plot(across, up, marker=mark(point["condition"]), **style)


def _is_point(point: Json) -> bool:
    return family(point["condition"]) == "SM" and not variant(point["condition"])


def _legend(axes: Any) -> None:
    """Names for the figure's legend: methods by mark, regimes by line."""
    for name in (each for each in MARKS if each != "base"):
        axes.plot([], [], marker=mark(_SAMPLE.get(name, name)), linestyle="", color=colour(_SAMPLE.get(name, name)),
                  label=name)  # fmt: skip
    for regime, line in _STYLES.items():
        inside = GREY if regime == "fine-tuning" else "white"
        axes.plot([], [], linestyle=line, marker="o", markerfacecolor=inside, color=GREY, label=regime)


_SAMPLE = {"detector": "a-detector"}
