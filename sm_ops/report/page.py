"""A script-free HTML page: its frame, its parts, and tables as CSV beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.report.words import count, decimal, told

Json = dict[str, Any]


def page(title: str, facts: str, sections: Iterable[str]) -> str:
    """The whole page; sections are HTML, title and facts are text."""
    title, facts = escape(title), escape(facts)
    whole = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{_CSS}</style></head>\n"
        f'<body><header><h1>{title}</h1><p class="note">{facts}</p></header>\n<main>\n'
        + "\n".join(sections)
        + "\n</main></body></html>\n"
    )
    return whole.replace(" %", "\N{NO-BREAK SPACE}%")


def write_page(folder: Path, name: str, found: Json, html: str, picture: str, tables: Mapping[str, list[Json]]) -> Path:
    """Write NAME.html, .svg, .json and a CSV for each table into a folder; gives the page's path."""
    fs.write_json(folder / f"{name}.json", found)
    texts = {f"{table}.csv": csv_text(rows) for table, rows in tables.items()}
    for file, text in {**texts, f"{name}.svg": picture, f"{name}.html": html}.items():
        fs.write_atomic(folder / file, text.encode())
    return folder / f"{name}.html"


def section(title: str, *parts: str) -> str:
    """A part of the page under its heading; the parts are HTML."""
    return f"<section><h2>{escape(title)}</h2>\n{''.join(parts)}</section>"


def figure(svg: str, caption: str = "") -> str:
    """A figure with what it shows."""
    caption = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{caption}</figure>\n"


def remark(text: str) -> str:
    """A remark in small print."""
    return f'<p class="note">{escape(text)}</p>'


def claim_list(claims: Iterable[Json]) -> str:
    """Claims with whether each holds, and its numbers in small print."""
    items = (
        f'<li><span class="{told(c)}">{told(c)}</span> <span>{escape(c["sentence"])}</span>'
        f'<span class="note">{escape(c["detail"])}</span></li>'
        for c in claims
    )
    return f'<ul class="claims">{"".join(items)}</ul>'


def item_list(items: Iterable[str]) -> str:
    """Sentences as a list."""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], narrow: bool = False) -> str:
    """A table whose first column names the row; every cell is escaped here."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    kind = ' class="narrow"' if narrow else ""
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n'


def stage_section(stages: Iterable[Json], before: str = "", after: str = "") -> str:
    """What `outputs.stage_times` gives, with what a flow says of its own before and after it (HTML)."""
    rows = [(each["stage"], count(each["steps"]), decimal(each["seconds"], digits=1)) for each in stages]
    table = html_table(("stage", "steps", "seconds"), rows, narrow=True)
    note = "Seconds that each result took when it was made; a result found in the store costs none again."
    return section("Stages", before, table, remark(note), after)


def csv_text(rows: Sequence[Json]) -> str:
    """Rows as CSV; nested numbers are made `flat`, undefined ones stay empty."""
    single = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in single for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(single)
    return stream.getvalue()


def flat(row: Json, prefix: str = "") -> Json:
    """A row whose nested numbers have names joined by an underscore."""
    result: Json = {}
    for name, value in row.items():
        result |= flat(value, f"{prefix}{name}_") if isinstance(value, dict) else {prefix + name: value}
    return result


_CSS = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0 auto;max-width:66rem;padding:1rem;background:#fff;color:#222;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.5rem;line-height:1.2;margin:.5rem 0 .25rem}
h2{font-size:1.2rem;margin:0 0 .75rem;padding-top:1.5rem;border-top:1px solid #ddd}
h3{font-size:1rem;margin:.25rem 0}
section{margin-top:1.75rem}
figure{margin:0 0 .75rem}
figure svg,figure img{display:block;width:100%;max-width:40rem;height:auto}
pre{overflow-x:auto;padding:.5rem .75rem;background:#f4f4f4;font-size:.8125rem}
figcaption,.note{color:#555;font-size:.875rem}
figcaption{margin-top:.4rem;max-width:40rem}
ul{padding-left:1.2rem;max-width:46rem}
li{margin:.35rem 0}
.claims{list-style:none;padding:0}
.claims li{display:grid;grid-template-columns:5rem 1fr;gap:0 .5rem;margin:.5rem 0}
.claims .note{grid-column:2}
.holds,.fails,.undefined,.red{font-weight:600;font-size:.875rem}
.holds{color:#00664b}.fails{color:#a33c00}.undefined{color:#555}.red{color:#b00020}
.alarm{border:2px solid #b00020;border-radius:4px;padding:0 1rem;background:#fff5f5}
.wide{overflow-x:auto;margin:.5rem 0}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:0 2rem}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;min-width:100%}
table.narrow{min-width:18rem}
th,td{padding:.35rem .5rem;border-bottom:1px solid #e5e5e5;text-align:right;white-space:nowrap}
th{font-weight:600}
thead th{white-space:normal;vertical-align:bottom;border-bottom:2px solid #bbb;line-height:1.25}
tr>th:first-child{text-align:left;position:sticky;left:0;background:#fff}
.heat td{text-align:center;border:1px solid #fff}
.heat thead th:not(:first-child){text-align:center}
@media(max-width:30rem){tr>th:first-child{white-space:normal;min-width:7rem}}
@media print{body{max-width:none}.wide,pre{overflow:visible}table{font-size:.7rem}
th,td,pre{white-space:normal}td,pre{overflow-wrap:anywhere}
figure,li,tr{break-inside:avoid}h2,h3{break-after:avoid}tr>th:first-child{position:static}*{print-color-adjust:exact}}
"""
