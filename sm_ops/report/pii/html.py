"""The PII report: one script-free HTML page, and its numbers as JSON and CSV beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.report.page import claim_list, csv_text, html_table, item_list, page, remark, section, stage_section
from sm_ops.report.pii.results import load_results
from sm_ops.report.pii.words import HEADER, NOT, cells
from sm_ops.report.words import count, decimal, finished, interval, rated

Json = dict[str, Any]

LABELS = {"all": "all types", "numeric": "numeric types"}
TABLES = ("rows", "by_type", "by_language", "familiarity", "masked", "stages", "claims")


def write_report(run: Run, home: Path) -> Path:
    """Write report.html, results.json and a CSV file a table into the run's folder."""
    results = load_results(run, home)
    fs.write_json(run.folder / "results.json", results)
    for name in TABLES:
        fs.write_atomic(run.folder / f"{name}.csv", csv_text(results[name]).encode())
    fs.write_atomic(run.folder / "report.html", _page(results).encode())
    return run.folder / "report.html"


def _page(results: Json) -> str:
    return page(
        f"{results['run']['name']}: finding and masking PII",
        finished(results["run"]),
        (
            section("What the run shows", claim_list(results["claims"])),
            _finders(results),
            _types(results),
            _languages(results),
            _familiarity(results),
            _documents(results),
            _masked(results),
            stage_section(results["stages"]),
            section("What these numbers are not", item_list(NOT)),
        ),
    )


def _finders(results: Json) -> str:
    header = (*HEADER, "entities leaking", "predicted beside gold", "parsed")
    names = ("entity_leak", "over_redaction", "parse_success")
    rows = [(*cells(row), *(rated(row[name]) for name in names)) for row in results["rows"]]
    tuned = results["tuned"]
    seeds = (
        f"Over {tuned['f1']['seeds']} tuning seeds: F1 {decimal(tuned['f1']['mean'], tuned['f1']['se'])}, on numeric "
        f"types {decimal(tuned['numeric_f1']['mean'], tuned['numeric_f1']['se'])} (mean, standard error). "
        if tuned["f1"]["se"] is not None
        else "One tuning seed: its error over seeds is unknown. "
    )
    note = (
        "Brackets are 95 % intervals with a document as the unit (bootstrap; Wilson's for shares of documents). A "
        "document leaks when an occurrence of a gold value is not wholly masked; entities leaking are such pairs of "
        "type and spelling. Made up: rows whose value does not stand in the source. Numeric: RRN, CARD, PHONE, DOB, "
        "ACCOUNT. `base` is the model before tuning. A rate of nothing is 0. " + seeds
    )
    return section("What finds what", html_table(header, rows), remark(note))


def _types(results: Json) -> str:
    finders = list(dict.fromkeys(each["finder"] for each in results["by_type"]))
    scores = {(each["finder"], each["types"]): each for each in results["by_type"]}
    types = list(dict.fromkeys(each["types"] for each in results["by_type"]))
    rows = [
        (
            str(LABELS.get(name, name)),
            count(scores[finders[0], name]["tp"] + scores[finders[0], name]["fn"]),
            *(rated(scores[finder, name]["f1"]) for finder in finders),
        )
        for name in types
    ]
    details = [
        (
            f"{finder}, {name}",
            *(rated(scores[finder, name][measure]) for measure in ("precision", "recall", "f1")),
            *(count(scores[finder, name][part]) for part in ("tp", "fp", "fn")),
        )
        for finder in finders
        for name in types
    ]
    every = html_table(("finder, type", "precision", "recall", "F1", "right", "wrong", "missed"), details)
    return section(
        "By type",
        html_table(("F1 by type", "gold pairs", *finders), rows),
        f"<details><summary>Precision, recall and counts</summary>{every}</details>",
    )


def _languages(results: Json) -> str:
    if not results["by_language"]:
        return ""
    rows = [
        (
            f"{each['finder']}, {each['slice']}",
            *(rated(each[name]) for name in ("precision", "recall", "f1")),
            count(each["tp"] + each["fn"]),
        )
        for each in results["by_language"]
    ]
    return section("By language", html_table(("finder, language", "precision", "recall", "F1", "gold pairs"), rows))


def _familiarity(results: Json) -> str:
    if not results["familiarity"]:
        return ""
    what = {"PERSON": "names, surname", "REL": "relation words,"}
    rows = [
        (
            each["finder"],
            f"{what[each['type']]} {'seen' if each['seen'] else 'not seen'} in training",
            interval(each),
            count(each["n"]),
        )
        for each in results["familiarity"]
    ]
    note = "Recall of exact pairs. No given name of the test documents stands in the training documents."
    return section("What training has not shown", html_table(("finder", "gold", "recall", "n"), rows), remark(note))


def _documents(results: Json) -> str:
    documents = results["documents"]
    counts = [(name.replace("_", " "), count(value)) for name, value in documents.items() if isinstance(value, int)]
    note = {
        "synthetic": "Made by sm-ops from templates; its checks and their results stand in its manifest.json.",
        "own": "The user's own documents.",
    }[documents["kind"]]
    return section("Documents", html_table(("what", "number"), counts, narrow=True), remark(note))


def _masked(results: Json) -> str:
    rows = [
        (each["finder"], each["dataset"], *(count(each[name]) for name in ("documents", "spans", "tokens", "restored")))
        for each in results["masked"]
    ]
    note = (
        "The mappings from tokens to spellings are in the vault under these names and nowhere else. Restored: "
        "documents that were read back through the vault and are the NFC source again."
    )
    header = ("finder", "data set in the vault", "documents", "spans", "tokens", "restored")
    return section("Masked", html_table(header, rows), remark(note))
