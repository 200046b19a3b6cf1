"""The sanitization's report: one script-free HTML page with its figure inlined, and its numbers as JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.report.costs import usd
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
from sm_ops.report.sanitize.elsewhere import by_category, over_folds, regimes
from sm_ops.report.sanitize.plots import curves_svg
from sm_ops.report.sanitize.results import load_results
from sm_ops.report.sanitize.together import combinations, masks
from sm_ops.report.sanitize.words import HEADER, LIMITS, RATES, SIDES, cells, chosen, rates, redacted, shared, side_of
from sm_ops.report.words import DASH, count, decimal, finished, percent, rated

Json = dict[str, Any]

OPEN_ROWS = 24
"""Longer tables of details are folded."""
TABLES = ("rows", "units", "categories", "families", "by", "curves", "costs", "stages", "claims")


def write_report(run: Run, home: Path) -> Path:
    """Write report.html, curves.svg, results.json and a CSV file a table into the run's folder."""
    results = load_results(run, home)
    picture = curves_svg(results)
    fs.write_json(run.folder / "results.json", results)
    for name, rows in ({name: results[name] for name in TABLES} | {"combinations": list(masks(results))}).items():
        fs.write_atomic(run.folder / f"{name}.csv", csv_text(rows).encode())
    fs.write_atomic(run.folder / "curves.svg", picture.encode())
    fs.write_atomic(run.folder / "report.html", _page(results, picture).encode())
    return run.folder / "report.html"


def _page(results: Json, picture: str) -> str:
    return page(
        f"{results['run']['name']}: which filter to take",
        finished(results["run"]) + _of_folds(results),
        (
            _choice(results),
            _filters(results, picture),
            _parts(results, "categories", "By category", "category"),
            _parts(results, "families", "By family", "family"),
            _units(results),
            _by(results),
            combinations(results),
            regimes(results),
            by_category(results),
            over_folds(results),
            _costs(results),
            _corpus(results),
            stage_section(results["stages"]),
            section("What this does not say", item_list(LIMITS)),
        ),
    )


def _of_folds(results: Json) -> str:
    folds = results["folds"]
    return "" if folds is None else f" Figures are of the first of {folds['folds']} folds where none is named."


def _choice(results: Json) -> str:
    choice = results["choice"]
    good = choice["filter"] is not None and choice["decision"] == "suitable"
    parts = [
        *map(remark, shared(results)),
        f'<p><span class="{"holds" if good else "fails"}">{escape(chosen(choice))}</span></p>',
        *_removed_and_missed(results),
        f"<p><strong>Redacted:</strong> {escape(redacted(results['redaction']))}</p>",
    ]
    if results["folds"] is not None:
        each = results["redaction"]["choices"].items()
        parts.append(item_list(f"Fold {fold}: {chosen(own)}" for fold, own in each))
    if results["claims"]:
        parts.append(f"<h3>What the run shows</h3>{claim_list(results['claims'])}")
    return section("Which filter to take", *parts)


def _removed_and_missed(results: Json) -> Iterator[str]:
    """What the chosen threshold does to each side, in whole numbers of a hundred."""
    unit = results["asked"]["unit"]
    for side in SIDES:
        own = results["choice"].get(side)
        if own is not None and own["tpr"]["value"] is not None:
            yield (
                f"<p><strong>On {side} data</strong> it removes {rated(own['tpr'])} of the target {unit} and misses "
                f"{percent(1 - own['tpr']['value'])}; it takes {rated(own['fpr'])} of all other {unit} along, and "
                f"{rated(own['precision'])} of what it removes are targets.</p>"
            )


def _filters(results: Json, picture: str) -> str:
    side, rows = side_of(results), [row for row in results["rows"] if row["fold"] == "0"]
    own = (f"{name}, {side}" for name in HEADER[4:])
    header = (*HEADER[:4], *own, "threshold", "at the acceptable rate")
    table = html_table(header, [_filter(row, side) for row in rows])
    asked = results["asked"]
    note = (
        f"Unit: {asked['unit']}. Removes: share of the targets; takes along: share of all other {asked['unit']}. "
        "Brackets are 95 % intervals over documents or repositories. Thresholds are those of the largest F1 on "
        "validation, or a detector's own. At the acceptable rate: targets that some threshold of the filter covers "
        f"while it takes at most {percent(asked['acceptable_collateral'])} of the others along; wanted are "
        f"{percent(asked['coverage'])} on validation. A dash is undefined or was not measured."
    )
    caption = (
        "Dashed and hollow: validation; whole and filled: application; dotted: the union of two filters. Marks are at "
        "each filter's threshold. The vertical line is the acceptable collateral rate."
    )
    items = "".join(
        f"<li><strong>{escape(name)}</strong>: "
        f'<span class="{"holds" if each["decision"] == "suitable" else "fails"}">{escape(each["decision"])}</span>. '
        f"{escape(each['reason'])}</li>"
        for name, each in results["verdicts"].items()
    )
    return section("The filters", figure(picture, caption), table, remark(note), f"<h3>Verdicts</h3><ul>{items}</ul>")


def _filter(row: Json, side: str) -> tuple[str, ...]:
    shown, attainable = cells(row, side), row[side]["attainable"]
    covered = percent(0.0) if attainable is None else rated(attainable["coverage"])
    return (*shown, "its own" if row["chosen"] == "own" else decimal(row["tau"]), covered)


def _parts(results: Json, table: str, title: str, what: str) -> str:
    """What each filter covers of each category, or of each family, and all rates in details."""
    side, unit = side_of(results), results["asked"]["unit"]
    rows = [row for row in results[table] if row["fold"] == "0" and row["side"] == side]
    if not rows:
        return ""
    filters = list(dict.fromkeys(row["filter"] for row in rows))
    redacting = _redacting(results, side) if table == "categories" else {}
    supported = _supported(results, filters[0], table)
    by_part: dict[str, dict[str, Json]] = {}
    for row in rows:
        by_part.setdefault(row["part"], {})[row["filter"]] = row
    body = [
        (
            part,
            *(count(own[filters[0]][key]) for key in ("documents", "target_units")),
            *([supported.get(part, DASH)] if supported else []),
            *(rated(own[name]["tpr"]) for name in filters),
            *([rated(redacting[part])] if redacting else []),
        )
        for part, own in by_part.items()
    ]
    folds = ["supported folds"] if supported else []
    redacted_by = [f"{results['choice']['filter']}, as it redacts"] if redacting else []
    whole = (
        "Units of other categories are left out of a category's counts; everything else is other content."
        if table == "categories"
        else "Only documents that hold the family count, and what other families mark in them is left out."
    )
    note = f"Share of each {what}'s {unit} that a filter removes on the {side} side. {whole}"
    every = html_table((f"filter, {what}", *RATES), [(f"{row['filter']}, {row['part']}", *rates(row)) for row in rows])
    return section(
        title,
        html_table((what, "documents", unit, *folds, *filters, *redacted_by), body),
        remark(note),
        f"<details><summary>All rates</summary>{every}</details>",
    )


def _redacting(results: Json, side: str) -> dict[str, Json]:
    """Coverage by category at the threshold that redacts, where there is one."""
    found = (results["choice"].get("categories") or {}).get(side) or []
    return {row["category"]: row["tpr"] for row in found}


def _supported(results: Json, name: str, table: str) -> dict[str, str]:
    """Of how many folds the application side holds a category; nothing where there is one fold."""
    if results["folds"] is None:
        return {}
    found = results["folds"]["filters"][name].get(table) or ()
    return {each["category"]: f"{each['supported']} of {each['folds']}" for each in found}


def _units(results: Json) -> str:
    side = side_of(results)
    rows = [
        (f"{row['filter']}, {row['part']}", *rates(row), count(sum(row["counts"].values())))
        for row in results["units"]
        if row["fold"] == "0" and row["side"] == side
    ]
    note = (
        f"The same thresholds, counted on the {side} side by other units. A token or a line is masked where a part of "
        "it is, and is a target where it shares a character with one; blank lines do not count."
    )
    return section("Characters, tokens and lines", html_table(("filter, unit", *RATES, "units"), rows), remark(note))


def _by(results: Json) -> str:
    side = side_of(results)
    rows = [row for row in results["by"] if row["fold"] == "0" and row["side"] == side]
    if not rows:
        return ""
    key = results["asked"]["by"]
    means = [(row["filter"], *_mean(row)) for row in results["by_mean"] if row["fold"] == "0" and row["side"] == side]
    every = html_table((f"filter, {key}", *RATES), [(f"{row['filter']}, {row['value']}", *rates(row)) for row in rows])
    return section(
        f"By {key}",
        html_table(("filter, unweighted mean", *RATES), means),
        remark(f"Every value of {key} counts the same in a mean; where one lacks a rate, so does the mean."),
        f"<details{' open' if len(rows) <= OPEN_ROWS else ''}><summary>Every value</summary>{every}</details>",
    )


def _mean(row: Json) -> tuple[str, ...]:
    shares = (percent(row[name]) for name in ("tpr", "fpr", "precision"))
    return decimal(row["auroc"]), *shares, decimal(row["f1"])


def _costs(results: Json) -> str:
    rows = [
        (each["filter"], usd(each["usd_per_million"]), decimal(each["seconds"], digits=1), count(each["source_tokens"]))
        for each in results["costs"]
    ]
    told = item_list(f"{each['filter']}: {each['usd_from']}." for each in results["costs"])
    note = (
        "Cost of selecting alone, as no rewriter is called: seconds of the steps, start included, at the config's "
        "price of a machine hour, per million tokens of the source."
    )
    header = ("filter", "USD / M source tokens", "seconds", "source tokens")
    return section("Cost", html_table(header, rows, narrow=True), remark(note), told)


def _corpus(results: Json) -> str:
    corpus, sides = results["corpus"], results["corpus"]["sides"]
    columns = ("records", "groups", "characters", "targets", "left_out")
    rows = [(name, *(count(side[column]) for column in columns)) for name, side in sides.items()]
    facts = [f"Corpus {corpus['corpus']}, published rule {corpus['rule'] or 'none'}."]
    if not corpus["labelled"]:
        facts.append("The application side has no labels: what is told of it is nothing but what was removed.")
    overlap = [(name, *map(_plain, found.values())) for name, found in (corpus.get("overlap") or {}).items()]
    shared = next(iter((corpus.get("overlap") or {}).values()), {})
    audit = html_table(("fold, on both sides", *map(_spaced, shared)), overlap) if overlap else ""
    return section(
        "Data",
        f"<p>{escape(' '.join(facts))}</p>",
        html_table(("side", *map(_spaced, columns)), rows),
        _by_side("category: targets", {name: side.get("categories") or {} for name, side in sides.items()}),
        _by_side("category: labelled strings", {name: flat(side.get("anchors") or {}) for name, side in sides.items()}),
        audit,
    )


def _by_side(what: str, sides: dict[str, dict[str, int]]) -> str:
    """Counts by side, a row a category."""
    names = sorted({name for own in sides.values() for name in own})
    rows = [(_spaced(name), *(count(own.get(name, 0)) for own in sides.values())) for name in names]
    return html_table((what, *sides), rows, narrow=True) if rows else ""


def _plain(value: Any) -> str:
    return count(value) if isinstance(value, int) else str(value)


def _spaced(name: str) -> str:
    return name.replace("_", " ")
