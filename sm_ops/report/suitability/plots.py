"""The panel of ROC curves: a setting each, validation dashed, application solid (paper, figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sm_ops.report.figures import CYCLE, FAINT, GREY, panels
from sm_ops.report.suitability.collect import points
from sm_ops.report.words import decimal

Json = dict[str, Any]

_COLUMNS = 3


def panel_svg(rows: Sequence[Json]) -> str:
    """All curves of all rows, a panel a setting; the legend gives AUROC on validation, then on application data."""
    by_title: dict[str, list[Json]] = {}
    for row in rows:
        by_title.setdefault(row["title"], []).append(row)

    def draw(axes: Any, title: str) -> None:
        own = by_title[title]
        repeated = len({row["name"] for row in own}) > 1
        for at, row in enumerate(own):
            name = row["score"] + (f", {row['name']}" if repeated else "")
            areas = [decimal(each and each["value"], digits=2) for each in row["auroc"].values()]
            colour = CYCLE[(at + 1) % len(CYCLE)]
            for side, style in (("validation", "--"), ("application", "-")):
                if row["roc"][side] is not None:
                    known = points(row["roc"][side])
                    x, y = [fpr for fpr, _ in known], [tpr for _, tpr in known]
                    axes.plot(x, y, style, color=colour, linewidth=1.3)
            axes.plot([], [], color=colour, label=f"{name}: {areas[0]} / {areas[1]}")
            axes.axvline(row["attainable"]["collateral"], color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        axes.set(xlabel="other units selected", ylabel="targets selected")
        axes.set_title(f"{title} ({', '.join(dict.fromkeys(row['unit'] for row in own))})", fontsize=10, loc="left")
        axes.legend(loc="lower right", fontsize=7.5, handlelength=1.0, frameon=True, framealpha=0.8, edgecolor="none")

    drawn = panels("separations", "ROC curves by setting", list(by_title), draw, columns=_COLUMNS)
    return drawn or ""
