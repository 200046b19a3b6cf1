"""What all figures of reports share: SVG strings, self-contained, the same bytes for the same numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from math import ceil
from typing import Any

INK, GREY, FAINT = "#222222", "#666666", "#8a8a8a"
CYCLE = ("#d55e00", "#0072b2", "#009e73", "#b0568f", "#b87700", "#3b8fb8", "#7a5195", "#4d7c0f")
"""Colours of things that have none of their own, apart from each other for every kind of colour vision."""

_STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e8e8e8",
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.borderaxespad": 0,
    "legend.handletextpad": 0.4,
}
_FONTS = "'DejaVu Sans',Verdana,Arial,sans-serif"
_LEGEND = 0.5  # inches for two rows of names
_WIDTH = 640  # in pixels, where no style sheet says otherwise
_REFERENCE = r'(?:(?<=url\()|(?<=href="))#([\w-]+)'


def svg(
    name: str,
    label: str,
    size: tuple[float, float],
    draw: Callable[[Any], None],
    above: float = 0.12,
    right: float = 0.1,
) -> str:
    """Let `draw` fill the axes of a figure, and give the SVG element for a page.

    In inches: `size`, and what is left free `above` the axes and to the `right` of them.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    width, height = size
    stream = io.StringIO()
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size)
        canvas = FigureCanvasSVG(figure)
        draw(figure.add_axes((0.8 / width, 0.5 / height, 1 - (0.8 + right) / width, 1 - (0.5 + above) / height)))
        undated = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.print_svg(stream, metadata=undated)
    return _inline(stream.getvalue(), name, label)


def panels(
    name: str,
    label: str,
    titles: Sequence[str],
    draw: Callable[[Any, str], None],
    columns: int = 2,
    named: bool = False,
) -> str | None:
    """One figure with `draw` called for the axes of every title, `columns` in a row; None without titles.

    `named`: the lines of the first panel are named above all of them.
    """
    if not titles:
        return None
    columns = min(columns, len(titles))
    rows = ceil(len(titles) / columns)
    wide, high = {1: (6.0, 3.6), 2: (4.4, 3.3)}.get(columns, (3.4, 3.3))
    width, height = columns * wide, rows * high + (_LEGEND if named else 0)

    def place(axes: Any) -> None:
        figure = axes.figure
        axes.remove()
        for at, title in enumerate(titles):
            row, column = divmod(at, columns)
            corner = ((column * wide + 0.75) / width, ((rows - 1 - row) * high + 0.5) / height)
            draw(figure.add_axes((*corner, (wide - 0.9) / width, (high - 0.85) / height)), title)
        if named:
            lines = figure.axes[0].get_legend_handles_labels()
            figure.legend(*lines, loc="upper left", ncols=5, fontsize=8, columnspacing=1.2)

    drawn = svg(name, label, (width, height), place)
    return drawn if columns == 1 else drawn.replace("<svg", '<svg style="max-width:none"', 1)


def _inline(drawn: str, name: str, label: str) -> str:
    """The bare element: no header, no fixed height, no ids but those referred to, and these unique in a page."""
    drawn = re.sub(r"<!--.*?-->\s*", "", drawn[drawn.index("<svg") :].strip(), flags=re.DOTALL)
    used = set(re.findall(_REFERENCE, drawn))
    drawn = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", drawn)
    drawn = re.sub(_REFERENCE, lambda found: f"#{name}-{found[1]}", drawn)
    drawn = re.sub(r' (width|height)="[\d.]+pt"', "", drawn, count=2).replace("'DejaVu Sans'", _FONTS)
    return drawn.replace("<svg", f'<svg role="img" aria-label="{escape(label)}" width="{_WIDTH}"', 1)
