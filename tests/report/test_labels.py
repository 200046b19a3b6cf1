from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from sm_ops.report.labels import label_lines, label_points, spread

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([], []),
        ([10.0, 50.0], [10.0, 50.0]),
        ([0.0, 1.0, 2.0], [0.0, 5.0, 10.0]),
        ([98.0, 99.0, 100.0], [90.0, 95.0, 100.0]),
    ],
)
def test_spread(values: list[float], places: list[float]) -> None:
    assert spread(values, apart=5.0, top=100.0) == places


def test_names_of_close_points_do_not_overlap() -> None:
    figure = Figure(figsize=(5, 4))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.12, 0.12, 0.85, 0.8))
    rng = np.random.default_rng(1)
    points = [(float(x), float(y), f"SM{i}0", "#000000") for i, (x, y) in enumerate(0.5 + 0.05 * rng.random((7, 2)))]
    axes.set(xlim=(0, 1), ylim=(0, 1))
    label_points(axes, points, bars=[(0.5, 0.4, 0.6)])
    figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the leader
    assert [text.get_text() for text in axes.texts] == [name for *_, name, _ in points]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_names_of_close_lines_stand_in_rows() -> None:
    figure = Figure(figsize=(5, 4))
    axes = figure.add_axes((0.12, 0.12, 0.85, 0.8))
    axes.set_xlim(0, 100)
    label_lines(axes, [(50.0, "SM90"), (51.0, "SM95"), (90.0, "SM50")])
    heights = {text.get_text(): text.xyann[1] for text in axes.texts}
    assert heights == {"SM90": 3, "SM95": 13, "SM50": 3}
