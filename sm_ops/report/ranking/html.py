"""The report of a ranking: one script-free HTML page, and its numbers as JSON and CSV beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.report.page import claim_list, csv_text, figure, html_table, item_list, page, remark, section, stage_section
from sm_ops.report.ranking.results import SIDES, load_results
from sm_ops.report.ranking.words import HEADER, LIMITS, cell, cells
from sm_ops.report.suitability.collect import curves
from sm_ops.report.suitability.plots import panel_svg
from sm_ops.report.words import DASH, count, decimal, finished, percent

Json = dict[str, Any]


def write_report(run: Run, home: Path) -> Path:
    """Write report.html, results.json and a CSV file a table into the run's folder."""
    results = load_results(run, home)
    drawn = [_drawn(each, results) for each in results["separations"]]
    fs.write_json(run.folder / "results.json", results)
    tables = {
        "scores": results["rows"],
        "baselines": [{"baseline": name, **own} for name, own in results["baselines"].items()],
        "curves": list(curves(drawn)),
        "claims": results["claims"],
        "stages": results["stages"],
    }
    for name, rows in tables.items():
        fs.write_atomic(run.folder / f"{name}.csv", csv_text(rows).encode())
    fs.write_atomic(run.folder / "report.html", _page(results, panel_svg(drawn)).encode())
    return run.folder / "report.html"


def _drawn(separation: Json, results: Json) -> Json:
    """A separation as the panel of curves reads it."""
    parts = {key: {side: separation[side][key] for side in SIDES} for key in ("auroc", "roc")}
    run = results["run"]
    return {**separation, "title": results["setting"], "run": run["id"], "name": run["name"], **parts}


def _page(results: Json, picture: str) -> str:
    return page(
        f"{results['run']['name']}: whole outputs by surprise",
        finished(results["run"]),
        (
            _scores(results, picture),
            _rates(results),
            _baselines(results),
            _pairs(results),
            section("What this does not say", item_list(LIMITS)),
            stage_section(results["stages"]),
        ),
    )


def _scores(results: Json, picture: str) -> str:
    note = (
        f"Finds: risky outputs at the threshold that takes at most {percent(results['acceptable_collateral'])} of the "
        "safe validation outputs along; finds, taken along and F1 are of the application side, F1 at the threshold of "
        "the largest F1 on validation. Brackets are 95 % intervals with a source as the unit (bootstrap); "
        f"{results['direction']}."
    )
    verdicts = [f"{row['score']}: {row['reason']}" for row in results["rows"]]
    cautions = ["<h3>Mind</h3>", item_list(results["cautions"])] if results["cautions"] else []
    return section(
        "What each score separates",
        html_table(HEADER, map(cells, results["rows"])),
        remark(note),
        "<h3>Verdicts</h3>",
        item_list(verdicts),
        "<h3>What the application side shows</h3>",
        claim_list(results["claims"]),
        *cautions,
        figure(picture, "Validation dashed, application solid; the legend gives their AUROCs in this order."),
    )


def _rates(results: Json) -> str:
    rates = ("tpr", "fpr", "precision", "f1")
    rows = [
        (f"{row['score']}, {side}", decimal(row["tau"]), *(cell(row[side][rate], share=True) for rate in rates),
         *(count(row[side]["counts"][part]) for part in ("tp", "fp", "fn", "tn")))
        for row in results["rows"]
        for side in SIDES
    ]  # fmt: skip
    header = ("score, side", "threshold", "TPR", "FPR", "precision", "F1", "TP", "FP", "FN", "TN")
    return section("At the threshold of the largest F1 on validation", html_table(header, rows))


def _baselines(results: Json) -> str:
    rows = [(name, *(cell(own[side]) for side in SIDES)) for name, own in results["baselines"].items()]
    note = "AUROC of what is no score at all. Near 0.5 it cannot be what a score ranks by."
    return section("What ranks alone", html_table(("baseline", *SIDES), rows, narrow=True), remark(note))


def _pairs(results: Json) -> str:
    pairs = results["pairs"]
    sizes = [(side, *(count(pairs["sides"][side][part]) for part in ("pairs", "outputs", "groups"))) for side in SIDES]
    read = [(name.replace("_", " "), side, count(number)) for side, own in pairs["read"].items() for name, number in
            own.items()]  # fmt: skip
    features = [
        (f"{row['score']}, {name}", decimal(own["mean"]), decimal(own["deviation"]))
        for row in results["rows"]
        for name, own in (row["standardisation"] or {}).items()
    ]
    return section(
        "Outputs",
        html_table(("side", "pairs", "outputs", "groups"), sizes, narrow=True),
        html_table(("read", "file", "number"), read, narrow=True) if read else "",
        html_table(("standardised feature", "mean on validation", "deviation"), features) if features else "",
        remark(f"Source {pairs['source']}, controls {pairs['controls']}; {pairs['clean'] or DASH} safe texts beside."),
    )
