"""The suitability page: one script-free HTML file with its figure inlined, the numbers as JSON and CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from sm_ops.report.costs import usd
from sm_ops.report.page import figure, html_table, item_list, page, remark, section, write_page
from sm_ops.report.suitability.collect import curves
from sm_ops.report.suitability.plots import panel_svg
from sm_ops.report.suitability.verdicts import gap_words, poorly_cut
from sm_ops.report.words import DASH, numbered, percent, text_table

Json = dict[str, Any]

HEADER = (
    "setting", "score", "verdict", "AUROC, validation", "application", "coverage, validation", "application",
    "F1, application", "USD / M tokens",
)  # fmt: skip
_LIMITS = (
    "The curves compare how scores rank targets and other content of the same kind of data, unit and rule as the run "
    "says; they do not compare kinds of content with each other.",
    "Similar curves do not mean that one threshold gives the same rates on both: look at the rates of the chosen "
    "threshold in the run's own report.",
    "Validation data was made to be like the application data; nothing here speaks of data of another kind.",
    "A setting whose validation said no before anything was trained has no finished run, and so no curve here; "
    "sm-ops sanitize measures it all the same.",
    "What labels miss is in no number on this page.",
)


def write(found: Json, folder: Path) -> Path:
    """Write suitability.html, .svg, .json and .csv, and curves.csv, into a folder; gives the page's path."""
    picture = panel_svg(found["rows"])
    tables = {"suitability": [_plain(row) for row in found["rows"]], "curves": list(curves(found["rows"]))}
    return write_page(folder, "suitability", found, _page(found, picture), picture, tables)


def lines(found: Json) -> Iterator[str]:
    """The table, what is to be said of it, and what is absent, for the screen."""
    yield from text_table(HEADER, [_cells(row) for row in found["rows"]])
    yield ""
    for row in found["rows"]:
        yield f"{_named(row)}: {row['verdict']['decision']}. {row['verdict']['reason']}"
    yield from (f"gap: {each}" for each in _gaps(found))
    yield from (f"note: {each}" for each in _poor(found))
    if found["absent"]:
        yield f"not measured here: {', '.join(found['absent'])}"


def _page(found: Json, picture: str) -> str:
    runs = len({row["run"] for row in found["rows"]})
    caption = (
        "Dashed: validation data; solid: application data; dotted: ranking at chance; upright: the acceptable rate. "
        "Behind each score stand its AUROC on validation and on application data. Units and scores differ between "
        "settings."
    )
    return page(
        "Where surprise separates",
        f"{len(found['rows'])} curves of {runs} finished runs.",
        (
            section("Separation by setting", figure(picture, caption), _absent(found)),
            _numbers(found),
            _verdicts(found),
            _remarks("Where validation and application differ", _gaps(found), _no_gap(found)),
            _remarks("Ranked well, cut poorly", _poor(found), "No score ranks high and leaves a poor F1."),
            section("What this does not say", item_list(_LIMITS)),
        ),
    )


def _absent(found: Json) -> str:
    if not found["absent"]:
        return ""
    return remark(f"Settings of the paper's figure that no run of this home measured: {', '.join(found['absent'])}.")


def _numbers(found: Json) -> str:
    note = (
        "Brackets are 95 % intervals over documents, repositories or identities, never over characters or tokens. "
        "Coverage: targets that some threshold selects while it selects no more of the other units than is "
        "acceptable; each side by its own best threshold. F1: at the threshold that validation chose. "
        f"⚑ AUROCs that differ by more than {found['gap']:.2f}. Cost of selecting alone: seconds of the step, its "
        "start included, at the price of the machine. A dash is undefined or was not measured."
    )
    table = html_table((*HEADER, "run"), [(*_cells(row), row["run"]) for row in found["rows"]])
    costs = [f"{_named(row)}: {row['usd_from']}." for row in found["rows"] if row["usd_from"]]
    told = f"<details><summary>What the costs are made of</summary>{item_list(costs)}</details>" if costs else ""
    return section("Numbers", table, remark(note), told)


def _verdicts(found: Json) -> str:
    items = "".join(
        f"<li><strong>{escape(_named(row))}</strong>: "
        f'<span class="{"holds" if row["verdict"]["decision"] == "suitable" else "fails"}">'
        f"{escape(row['verdict']['decision'])}</span>. {escape(row['verdict']['reason'])}</li>"
        for row in found["rows"]
    )
    return section("Verdicts", f"<ul>{items}</ul>")


def _remarks(title: str, told: list[str], none: str) -> str:
    return section(title, item_list(told) if told else f"<p>{escape(none)}</p>")


def _no_gap(found: Json) -> str:
    compared = sum(row["gap"] is not None for row in found["rows"])
    return f"Of {compared} settings and scores with both sides none differs by more than {found['gap']:.2f}."


def _gaps(found: Json) -> list[str]:
    return [gap_words(row) for row in found["rows"] if row["flagged"]]


def _poor(found: Json) -> list[str]:
    return [told for row in found["rows"] if (told := poorly_cut(row))]


def _named(row: Json) -> str:
    return f"{row['label']}, {row['score']}" + (f" under {row['reference']}" if row["reference"] else "")


def _cells(row: Json) -> tuple[str, ...]:
    validation, application = (numbered(row["auroc"][side]) for side in ("validation", "application"))
    at = f" at {percent(row['attainable']['collateral'], 0)}"
    covered = [_share(row["attainable"][side]) for side in ("validation", "application")]
    return (
        row["label"],
        f"{row['score']} ({row['unit']})",
        row["verdict"]["decision"],
        validation,
        application + (" ⚑" if row["flagged"] else ""),
        covered[0] + at,
        covered[1] + (at if covered[1] != DASH else ""),
        numbered(row["f1"]["application"]),
        usd(row["usd_per_million"]),
    )


def _share(value: Json | None) -> str:
    return percent(None if value is None else value["value"])


def _plain(row: Json) -> Json:
    """A row of the table without its curves."""
    return {name: value for name, value in row.items() if name != "roc"}
