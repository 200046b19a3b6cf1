"""The report of rewriting: one script-free HTML page, and its numbers as JSON and CSV beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.report.costs import usd
from sm_ops.report.page import claim_list, csv_text, figure, html_table, item_list, page, remark, section, stage_section
from sm_ops.report.rewriting.plots import tradeoff_svg
from sm_ops.report.rewriting.results import load_results
from sm_ops.report.rewriting.words import NOT, UTILITY, cells, header
from sm_ops.report.words import count, finished, numbered, percent

Json = dict[str, Any]

PICTURE = "tradeoff.svg"


def write_report(run: Run, home: Path) -> Path:
    """Write report.html, results.json, tradeoff.svg and a CSV file a table into the run's folder."""
    results = load_results(run, home)
    fs.write_json(run.folder / "results.json", results)
    for name in ("rows", "crossings", "stages"):
        fs.write_atomic(run.folder / f"{name}.csv", csv_text(results[name]).encode())
    drawn = tradeoff_svg(results, UTILITY[results["data"]["benchmark"]])
    if drawn is not None:
        fs.write_atomic(run.folder / PICTURE, drawn.encode())
    fs.write_atomic(run.folder / "report.html", _page(results, drawn).encode())
    return run.folder / "report.html"


def _page(results: Json, drawn: str | None) -> str:
    return page(
        f"{results['run']['name']}: rewriting beside masking",
        finished(results["run"]),
        (
            section("What the run shows", item_list(results["sentences"]), claim_list(results["claims"])),
            _conditions(results, drawn),
            _calls(results),
            _crossings(results),
            _separations(results),
            _texts(results),
            stage_section(results["stages"]),
            section("What these numbers are not", item_list(NOT)),
        ),
    )


def _conditions(results: Json, drawn: str | None) -> str:
    caption = "The area of a bubble is the cost; grey: as it was, blue: masked, orange: routed, green: rewritten whole."
    note = (
        "Brackets and bars are 95 % intervals with a person (or, for propositions, a document) as the unit. Chosen: "
        "the share of units that the validation threshold really chose."
    )
    rows = (cells(row, results) for row in results["rows"])
    picture = figure(drawn, caption) if drawn else ""
    return section("Security, utility and cost", picture, html_table(header(results), rows), remark(note))


def _calls(results: Json) -> str:
    rows = [
        (
            row["condition"],
            *(count(row[name]) for name in ("calls", "input_tokens", "cached_tokens", "output_tokens")),
            usd(row["selector_usd"]),
            usd(row["usd"]),
            *(count(row[name]) for name in ("changed", "unreadable", "misquoted")),
        )
        for row in results["rows"]
    ]
    head = (
        "condition", "calls", "input tokens", "of these cached", "output tokens", "selecting, USD/M", "all, USD/M",
        "texts changed", "unreadable answers", "misquoted spans",
    )  # fmt: skip
    prices = results["data"]["prices"]
    note = (
        f"USD a million source tokens at {prices['rewriter']['input']:g}, {prices['rewriter']['cached']:g} and "
        f"{prices['rewriter']['output']:g} USD a million input, cached and output tokens, and "
        f"{prices['machine_usd_per_hour']:g} USD an hour of the machine that selects. Calls of a condition that was "
        "not applied are those that it would make."
    )
    return section("Calls and costs", html_table(head, rows), remark(note))


def _crossings(results: Json) -> str:
    if not results["crossings"]:
        return ""
    rows = [
        (
            f"{each['route']} against {each['full']}",
            percent(each["route_share"]),
            usd(each["route_usd"]),
            usd(each["full_usd"]),
            percent(each["share"]) if each["share"] <= 1 else "never",
        )
        for each in results["crossings"]
    ]
    note = "From that share of the sentences on, sending them one by one costs more than rewriting every text whole."
    head = ("routing against full rewrite", "sentences sent", "USD/M, routing", "USD/M, full", "crossing at")
    return section("Where routing costs more", html_table(head, rows), remark(note))


def _separations(results: Json) -> str:
    if not results["separations"]:
        return ""
    rows = [
        (each["score"], *(numbered(each[side] and each[side]["auroc"]) for side in ("validation", "application")))
        for each in results["separations"]
    ]
    note = "AUROC of sentences that hold private content against the others, where texts are labelled; 0.5 is chance."
    table = html_table(("selector", "validation", "application"), rows, narrow=True)
    return section("How selectors separate", table, remark(note))


def _texts(results: Json) -> str:
    data = results["data"]
    sides = {"validation": "validation", "application": "records"}
    rows = [
        (name, *(count(data[what][side]) for what in ("documents", "groups", "tokens", "characters")))
        for name, side in sides.items()
    ]
    made = [name for name, side in sides.items() if data["generated"][side]]
    note = f"Generated by sm-ops: {' and '.join(made)}. " if made else ""
    note += "A group is a person or a document. Tokens are words and marks of the source."
    return section("Texts", html_table(("side", "texts", "groups", "tokens", "characters"), rows), remark(note))
