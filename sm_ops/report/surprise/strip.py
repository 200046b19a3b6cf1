"""One record as a strip of tokens without text, and the colour scale that it shares with heat tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sm_ops.report.figures import INK

OUTLINE = "#d55e00"
SCALE = ((238, 240, 242), (0, 68, 136))
"""From nothing to the most, as red, green and blue."""

_CELL, _ROW, _MARGIN = 6, 12, 6


def strip_svg(strip: dict[str, Any], mask: str) -> str:
    """Cells coloured by surprise, those of `mask` outlined, targets underlined; white where there is no score.

    `strip` places tokens by `line`, `column` and `width` in characters and holds no text.
    """
    tokens = list(_cells(strip, mask))
    columns = max((column + width for _, column, width, *_ in tokens), default=1)
    lines = 1 + max((line for line, *_ in tokens), default=0)
    most = max((value for value in strip["surprise"] if value is not None), default=0) or 1
    shapes = []
    for line, column, width, surprise, target, masked in tokens:
        x, y, wide = _MARGIN + column * _CELL, _MARGIN + line * _ROW, width * _CELL - 1
        outline = f' stroke="{OUTLINE}" stroke-width="1.4"' if masked else ""
        fill = "#ffffff" if surprise is None else shade(surprise / most)
        shapes.append(f'<rect x="{x}" y="{y}" width="{wide}" height="7" fill="{fill}"{outline}/>')
        if target:
            shapes.append(f'<rect x="{x}" y="{y + 8.6:g}" width="{wide}" height="1.8" fill="{INK}"/>')
    size = f"0 0 {2 * _MARGIN + columns * _CELL} {2 * _MARGIN + lines * _ROW}"
    return (
        f'<svg role="img" aria-label="Tokens of one record by surprise, mask and target" viewBox="{size}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(shapes)}</svg>'
    )


def shade(level: float) -> str:
    """A colour for a level in [0, 1]."""
    channels = (round(a + (b - a) * min(max(level, 0.0), 1.0)) for a, b in zip(*SCALE, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def _cells(strip: dict[str, Any], mask: str) -> Iterator[tuple[int, int, int, float | None, bool, bool]]:
    """Line, column, width, surprise, target and masked; a token that goes on in a later line ends with its own."""
    line, column = strip["line"], strip["column"]
    for i, width in enumerate(strip["width"]):
        goes_on = i + 1 < len(line) and line[i + 1] > line[i]
        visible = max(1, width - column[i + 1]) if goes_on else width
        if visible:
            yield line[i], column[i], visible, strip["surprise"][i], strip["target"][i], strip["masks"][mask][i]
