"""The audit's report: one script-free HTML page with inlined figures, and its numbers as JSON and CSV beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.report.audit.measures import agrees, labels
from sm_ops.report.audit.plots import along_svg, leakage_svg
from sm_ops.report.audit.results import load_results
from sm_ops.report.audit.words import cells, header, in_words, plain, tried
from sm_ops.report.page import (
    claim_list,
    csv_text,
    figure,
    flat,
    html_table,
    item_list,
    page,
    remark,
    section,
    stage_section,
)
from sm_ops.report.words import DASH, bound, count, finished

Json = dict[str, Any]

TABLES = ("rows", "per_seed", "measures", "statistics", "prepared", "trained", "claims", "stages")


def write_report(run: Run, home: Path) -> Path:
    """Write report.html, leakage.svg, results.json and a CSV file a table into the run's folder."""
    results = load_results(run, home)
    picture = leakage_svg(results)
    fs.write_json(run.folder / "results.json", results)
    for name in TABLES:
        fs.write_atomic(run.folder / f"{name}.csv", csv_text(results[name]).encode())
    fs.write_atomic(run.folder / "leakage.svg", (picture or _EMPTY).encode())
    fs.write_atomic(run.folder / "report.html", _page(results, picture).encode())
    return run.folder / "report.html"


_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def _page(results: Json, picture: str | None) -> str:
    return page(
        f"{results['run']['name']}: leakage against perplexity",
        finished(results["run"]),
        (
            _leakage(results, picture),
            *(_attack(results, each) for each in results["tried"]),
            _occurrences(results),
            _defences(results),
            _data(results),
            section("What was not tried", item_list(results["not_tried"])),
            section("What this does not say", item_list(results["limits"])),
            stage_section(results["stages"]),
        ),
    )


def _leakage(results: Json, picture: str | None) -> str:
    rows = [(*cells(row), _guarantee(row)) for row in results["rows"]]
    note = (
        "base is the model before fine-tuning; nothing is subtracted from its own numbers. Perplexity is of held-out "
        "records. Brackets are 95 % intervals"
        + (
            "; ± is one standard error over seeds, and the brackets hold both the error of a single seed and that over "
            "seeds (Student's t, so few seeds make them wide). "
            if len(results["run"]["seeds"]) > 1
            else " of this one seed. "
        )
        + "Epsilon is what the training spent as it really went. An AUC of 0.5 is chance. A dash is undefined, or was "
        "not measured."
    )
    parts = [html_table((*header(results["tried"]), "guarantee"), rows), remark(note)]
    if len(results["run"]["seeds"]) > 1:
        own = [(f"{row['defence']}, seed {row['seed']}", *cells(row)[1:]) for row in results["per_seed"]]
        table = html_table(("defence, seed", *header(results["tried"])[1:]), own)
        parts.append(f"<details><summary>Every seed with its own interval</summary>{table}</details>")
    if picture is not None:
        parts.insert(0, figure(picture, "Each point is a model. Bars are 95 % intervals. Down and left is better."))
    if results["claims"]:
        parts.append(f"<h3>What the run shows</h3>{claim_list(results['claims'])}")
    return section("Leakage against perplexity", *parts)


def _guarantee(row: Json) -> str:
    if row["epsilon"] is None:
        return "none"
    return f"({bound(row['epsilon'])}, {bound(row['delta'])}) for one {row['unit']}"


def _attack(results: Json, each: Json) -> str:
    """One attack: what its attacker knew, and its measures of each defence, of all values and by class."""
    own = [m for m in results["measures"] if m["attack"] == each["attack"] and "occurrences" not in m]
    marked = next((m for m in own if m["headline"]), None)
    settings = ", ".join(f"{name} {_setting(value)}" for name, value in each["settings"].items())
    parts = [
        f"<p><strong>The attacker knows:</strong> {escape(each['knowledge'] or DASH)}</p>",
        f"<p><strong>Settings:</strong> {escape(settings or DASH)}. <strong>Models attacked:</strong> "
        f"{each['models']}. <strong>In the table above:</strong> {escape(each['measure'])}, marked ●.</p>",
    ]
    differ = _varying(own)
    if marked is None:
        return section(f"Attack: {each['attack']}", *parts, _grid(results, own, ("class", "measure"), differ))
    overall = [m for m in own if m["class"] == "all"]
    success = [m for m in overall if _is_success(m, marked)]
    parts.append(_grid(results, success, ("measure",), differ))
    curve = [m for m in overall if "tokens" in m and agrees(m, marked, ("samples",))]
    if len({m["samples"] for m in curve}) > 1:
        svg = along_svg(f"curve-{each['attack']}", results, curve, "tokens", "tokens sampled")
        parts.append(figure(svg or "", "The marked measure by the number of sampled tokens."))
    by_class = [m for m in own if m["class"] != "all" and agrees(m, marked, ("measure", "class", "variant"))]
    rest = [m for m in overall if not _is_success(m, marked)]
    parts += [
        f"<details><summary>{title}</summary>{_grid(results, measures, first, differ)}</details>"
        for title, measures, first in (
            ("By class, at the settings of the marked measure", by_class, ("class", "measure")),
            ("Circumstances and smaller samples", rest, ("measure",)),
        )
        if measures
    ]
    return section(f"Attack: {each['attack']}", *parts)


def _is_success(measure: Json, marked: Json) -> bool:
    """Whether it says how far the attack comes, with all its samples; other measures are circumstances."""
    of_all = measure.get("samples") in (None, marked.get("samples"))
    return of_all and ("variant" in measure or measure["measure"] == "chance")


def _setting(value: Any) -> str:
    return "null" if value is None else plain(value)


def _varying(measures: Sequence[Json]) -> list[str]:
    """Labels that differ between measures and so have a column, beside those that each table begins with."""
    known = dict.fromkeys(name for measure in measures for name in labels(measure))
    own = [name for name in known if name not in ("measure", "class", "occurrences")]
    return [name for name in own if len({str(m.get(name, "")) for m in measures}) > 1]


def _grid(results: Json, measures: Sequence[Json], first: Sequence[str], differ: Sequence[str]) -> str:
    """Measures by `first` and by the labels that `differ`, a column a defence."""
    columns = [row["defence"] for row in results["rows"]]
    rows: dict[Any, dict[str, Json]] = {}
    for measure in measures:
        mark = " ●" if measure["headline"] else ""
        head = (in_words(measure[name]) + mark if name == "measure" else str(measure[name]) for name in first)
        rows.setdefault((*head, *(_label(measure, name) for name in differ)), {})[measure["defence"]] = measure
    table = []
    for place, own in rows.items():
        sizes = {m.get("n") for m in own.values()}
        same = len(sizes) == 1
        n = plain(sizes.pop()) if same else "as told"
        table.append((*place, n, *(tried(own.get(column), with_n=not same) for column in columns)))
    return html_table((*first, *differ, "n", *columns), table)


def _label(measure: Json, name: str) -> str:
    if name not in measure:
        return DASH
    return "all" if measure[name] is None else plain(measure[name])


def _occurrences(results: Json) -> str:
    """The marked measures by how often the training records mention a value."""
    marked = {m["attack"]: m for m in results["measures"] if m["headline"]}
    chosen = [
        m
        for m in results["measures"]
        if "occurrences" in m and m["attack"] in marked and agrees(m, marked[m["attack"]], ("occurrences",))
    ]
    if not chosen:
        return ""
    note = (
        "Occurrences: how often the training records mention a value, before any defence. Differential privacy bounds "
        "what one record or group adds: a value that many of them mention may leak all the same. All variants are in "
        "measures.csv."
    )
    picture = along_svg("occurrences", results, chosen, "occurrences", "occurrences in training")
    table = _grid(results, chosen, ("attack", "measure", "occurrences"), _varying(chosen))
    return section("Leakage by occurrences", figure(picture) if picture else "", table, remark(note))


def _defences(results: Json) -> str:
    told = [
        f"<li><strong>{escape(each['defence'])}</strong>: "
        f'<span class="{"holds" if each["verdict"]["decision"] == "suitable" else "fails"}">'
        f"{escape(each['verdict']['advice'])}</span>. {escape(each['verdict']['reason'])}</li>"
        for each in results["prepared"]
        if each.get("verdict")
    ]
    prepared = [{name: value for name, value in each.items() if name != "verdict"} for each in results["prepared"]]
    private = [
        f"{each['defence']}, seed {each['seed']}: epsilon {bound(each['epsilon'])} at delta {bound(each['delta'])} "
        f"for one {each['unit']}."
        for each in results["trained"]
        if each.get("epsilon") is not None
    ]
    return section(
        "What each defence did",
        _plain_table("defence", prepared),
        f"<h3>Verdicts on surprise masking</h3><ul>{''.join(told)}</ul>" if told else "",
        "<h3>Training</h3>",
        _plain_table("defence", results["trained"]),
        item_list(private) if private else "",
        remark("Epsilon is computed from the steps as they were taken. Self-check: the trained weights differ from "
               "those before, and the stored model loads again with the same output. Validation perplexity is what "
               "patience watched: of validation records as the defence leaves them, ends of texts counted; the "
               "perplexity above is of the same records as they were, without ends."),
    )  # fmt: skip


def _data(results: Json) -> str:
    data = results["data"]
    records = ", ".join(
        f"{count(n) if isinstance(n, int) else plain(n)} {name}" for name, n in flat(data["records"]).items()
    )
    facts = f"Corpus {data['corpus']}, cut by {data['unit']}, labelled by {data['tagger']}. Records: {records}."
    return section("Data", f"<p>{escape(facts)}</p>", _plain_table("class", results["statistics"]))


def _plain_table(first: str, rows: Sequence[Json]) -> str:
    """Rows of whatever they have, a column a name; nested names are joined."""
    single = [flat(row) for row in rows]
    names = list(dict.fromkeys((first, *(name for row in single for name in row))))
    head = [name.replace("_", " ") for name in names]
    return html_table(head, [[_cell(name, row.get(name)) for name in names] for row in single])


def _cell(name: str, value: Any) -> str:
    return bound(value) if name in ("epsilon", "delta") else plain(value)
