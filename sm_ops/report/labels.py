"""Names beside points and at the ends of lines, placed where they cover nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Box = tuple[float, float, float, float]

_CHARACTER, _HEIGHT, _POINT = 6.4, 11.0, 5.0  # in points
_NEAR = 9
_OFFSETS = [
    (reach * dx, reach * dy)
    for reach in (_NEAR, 18, 28, 40)
    for dx, dy in ((1, 0), (0.9, 0.9), (0.9, -0.9), (-1, 0), (-0.9, 0.9), (-0.9, -0.9), (0, 1.4), (0, -1.4))
]
"""Where a name may stand beside its point, in points, the best first."""


def label_points(
    axes: Any, points: Sequence[tuple[float, float, str, str]], bars: Sequence[tuple[float, float, float]] = ()
) -> None:
    """Write names of `(x, y, name, colour)` beside their points, away from other names, points and bars.

    `bars` are vertical: `(x, from, to)`. A name that stands further off gets a thin line to its point.
    """
    figure = axes.figure

    def place(x: float, y: float) -> tuple[float, float]:
        return tuple(axes.transData.transform((x, y)) * 72 / figure.dpi)

    places = [place(x, y) for x, y, *_ in points]
    taken: list[Box] = [(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in places]
    thin: list[Box] = []
    for x, low, high in bars:
        (left, bottom), (_, top) = place(x, low), place(x, high)
        thin.append((left - 1, bottom, left + 1, top))
    frame = axes.get_position()
    width, height = 72 * figure.get_size_inches()
    inside = (frame.x0 * width, frame.y0 * height, frame.x1 * width, frame.y1 * height)
    for (x, y), (_, _, name, colour) in zip(places, points, strict=True):
        boxes = {offset: _box(x, y, *offset, _CHARACTER * len(name)) for offset in _OFFSETS}
        offset = min(boxes, key=lambda offset: 3 * _reach(offset) + _cost(boxes[offset], inside, taken, thin))
        left, bottom, right, top = boxes[offset]
        taken.append(boxes[offset])
        middle = ((left + right) / 2, (bottom + top) / 2)
        where = {"xycoords": "figure points", "textcoords": "figure points", "ha": "center", "va": "center"}
        line = _leader(colour) if _reach(offset) > 1.5 * _NEAR else None
        axes.annotate(name, (x, y), middle, color=colour, fontsize=9, weight="bold", arrowprops=line, **where)


def label_lines(axes: Any, lines: Sequence[tuple[float, str]]) -> None:
    """Write names of vertical lines `(x, name)` above the axes, one row higher where they would touch."""
    to_points = 72 / axes.figure.dpi
    ends: list[float] = []  # where the last name of each row ends
    for x, name in sorted(lines):
        middle, half = axes.transData.transform((x, 0))[0] * to_points, _CHARACTER * len(name) / 2
        row = next((row for row, end in enumerate(ends) if end <= middle - half), len(ends))
        ends[row : row + 1] = [middle + half + 2]
        where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "center"}
        axes.annotate(name, (x, 1), (0, 3 + 10 * row), fontsize=8.5, **where)


def label_ends(axes: Any, ends: Sequence[tuple[float, float, str, str]], apart: float) -> None:
    """Write names of `(x, y, name, colour)` right of the axes, at least `apart` (in y) from each other."""
    ends = sorted(ends, key=lambda end: end[1])
    for (x, y, name, colour), place in zip(ends, spread([end[1] for end in ends], apart, 100.0), strict=True):
        where = {"textcoords": ("axes fraction", "data"), "va": "center"}
        line = _leader(colour) | {"relpos": (0, 0.5)}
        axes.annotate(name, (x, y), (1.05, place), color=colour, fontsize=9, weight="bold", arrowprops=line, **where)


def spread(values: Sequence[float], apart: float, top: float) -> list[float]:
    """Rising values moved as little up as keeps them `apart`, then down again where they pass `top`."""
    places: list[float] = []
    for value in values:
        places.append(max(value, places[-1] + apart) if places else value)
    limit = top
    for index in reversed(range(len(places))):
        places[index] = min(places[index], limit)
        limit = places[index] - apart
    return places


def _leader(colour: str) -> dict[str, Any]:
    return {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}


def _box(x: float, y: float, dx: float, dy: float, width: float) -> Box:
    left = x + dx - (0 if dx > 0 else width if dx < 0 else width / 2)
    return left, y + dy - _HEIGHT / 2, left + width, y + dy + _HEIGHT / 2


def _reach(offset: tuple[float, float]) -> float:
    return max(map(abs, offset))


def _cost(box: Box, frame: Box, taken: Sequence[Box], thin: Sequence[Box]) -> float:
    """How much a place hurts: leaving the axes most, then covering names and points, then crossing bars."""
    beyond = box[0] < frame[0] or box[1] < frame[1] or box[2] > frame[2] or box[3] > frame[3] + 6
    covered = 4 * sum(_overlap(box, other) for other in taken) + sum(_overlap(box, other) for other in thin)
    return 1e6 * beyond + covered


def _overlap(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
