"""What all figures of reports share: SVG strings, self-contained, the same bytes for the same numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

INK, GREY, FAINT = "#222222", "#666666", "#8a8a8a"

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


def _inline(drawn: str, name: str, label: str) -> str:
    """The bare element: no header, no fixed height, no ids but those referred to, and these unique in a page."""
    drawn = re.sub(r"<!--.*?-->\s*", "", drawn[drawn.index("<svg") :].strip(), flags=re.DOTALL)
    used = set(re.findall(_REFERENCE, drawn))
    drawn = re.sub(r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", drawn)
    drawn = re.sub(_REFERENCE, lambda found: f"#{name}-{found[1]}", drawn)
    drawn = re.sub(r' (width|height)="[\d.]+pt"', "", drawn, count=2).replace("'DejaVu Sans'", _FONTS)
    return drawn.replace("<svg", f'<svg role="img" aria-label="{escape(label)}" width="{_WIDTH}"', 1)
