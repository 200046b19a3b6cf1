"""A table of the paper's as people read it: on the page, and as rows of a CSV file."""

from __future__ import annotations

from typing import Any

from sm_ops.report.page import html_table, item_list, remark
from sm_ops.report.surprise.tables.validation import TITLES
from sm_ops.report.words import DASH, count, decimal, percent

Json = dict[str, Any]

_ENDS = ("value", "low", "high", "error")


def as_html(table: Json) -> str:
    """Ours above the paper's in every cell, then where the settings differ and agree."""
    columns = table["columns"]
    header = ("condition", "", *(column["title"] for column in columns))
    rows = []
    for row in table["rows"]:
        ours = (_cell(row["ours"][column["name"]], column) for column in columns)
        rows.append((row["title"], "here" if row["ran"] else "not run", *ours))
        if row["published"]:
            rows.append(("", "paper", *(_cell(row["paper"][column["name"]], column) for column in columns)))
    parts = [f"<h3>{_title(table)}</h3>", html_table(header, rows)]
    parts += [remark(sentence) for sentence in correlation_sentences(table.get("correlations", []))]
    parts.append(_setting(table))
    return "".join(parts)


def as_rows(table: Json) -> list[Json]:
    """A row each; the paper's numbers have names that begin with `paper`, and columns that are empty everywhere go."""
    rows = [
        {
            **{name: row[name] for name in ("condition", "title", "ran", "published")},
            **_spread(row["ours"], ""),
            **_spread(row["paper"], "paper_"),
        }
        for row in table["rows"]
    ]
    filled = [name for name in (rows[0] if rows else {}) if any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in filled} for row in rows]


def correlation_rows(tables: list[Json]) -> list[Json]:
    """Those of table 4, where there is one."""
    return [each for table in tables for each in table.get("correlations", [])]


def correlation_sentences(correlations: list[Json]) -> list[str]:
    """Each in a sentence; two points lie on a line whatever they are."""
    return [_correlation(each) for each in correlations]


def _correlation(found: Json) -> str:
    told = f"Pearson correlation of {TITLES[found['measure']]} between validation and training: "
    over = f"; the paper reports more than {found['paper_over']:.2f}."
    if found["value"] is None:
        return f"{told}undefined over {found['points']} operating points{over}"
    line = ", which always lie on a line" if found["points"] == 2 else ""
    return f"{told}{decimal(found['value'])} over {found['points']} operating points{line}{over}"


def _title(table: Json) -> str:
    return f"Table {table['table']}. {table['title']}"


def _setting(table: Json) -> str:
    others = [row for row in table["rows"] if row["published"]]
    if not others:
        return remark("The paper has no such table of this data; a dash stands where it gives no number.")
    parts = []
    if table["differences"]:
        parts += ["<h4>Differences of setting</h4>", item_list(table["differences"])]
    if table["agreements"]:
        parts.append(remark(f"As in the paper: {'; '.join(table['agreements'])}."))
    return f"<details><summary>The setting here and in the paper</summary>{''.join(parts)}</details>"


def _cell(cell: Json | None, column: Json) -> str:
    if cell is None:
        return DASH
    value, low, high, error = (cell.get(name) for name in _ENDS)
    digits = column["digits"]
    if column["unit"] == "count":
        return count(value)
    if column["unit"] == "number":
        return decimal(value, error, digits)
    told = percent(value, digits)
    told += "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return told + ("" if error is None else f" ± {100 * error:.1f}")


def _spread(cells: Json, prefix: str) -> Json:
    found = {}
    for name, cell in cells.items():
        for end in _ENDS:
            found[prefix + name + ("" if end == "value" else f"_{end}")] = cell.get(end) if cell else None
    return found
