"""How a solution comes by its rows: workbooks read with exstruct, and files that the standard library reads.

Each source writes the rows to bytes and says, in code and in words, how they are read; what is read are the rows again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from xml.sax.saxutils import quoteattr

from sm_ops.data.tasks.tables import Row, Table
from sm_ops.data.tasks.workbook import Cell, workbook

EXSTRUCT = "from exstruct import extract"


@dataclass(frozen=True, slots=True)
class Source:
    """A way to keep rows in a file. `code` binds `«rows»` from a variable `path`; `write` makes the file's bytes."""

    suffix: str
    code: str
    says: tuple[str, str]
    imports: tuple[str, ...]
    write: Callable[[Sequence[Row], Random], bytes]


def _header(table: Table) -> list[Cell]:
    return list(table.columns)


def _cells(table: Table, rows: Sequence[Row]) -> list[list[Cell]]:
    return [[row[column] for column in table.columns] for row in rows]


def _columns(table: Table) -> str:
    return ", ".join(f"`{column}`" for column in table.columns)


# ---- workbooks -----------------------------------------------------------------------------------------

_ROWS = (
    "«rows» = [{header.c[column]: value for column, value in cells.c.items()} for cells in body]",
    "«rows» = []\nfor cells in body:\n"
    "    «rows».append({header.c[column]: value for column, value in cells.c.items()})",
    "names = list(header.c.values())\n«rows» = [dict(zip(names, cells.c.values())) for cells in body]",
    "«rows» = []\nfor cells in body:\n    «row» = {}\n    for column, name in header.c.items():\n"
    "        «row»[name] = cells.c[column]\n    «rows».append(«row»)",
)


def plain_sheet(table: Table, random: Random) -> Source:
    """One sheet whose first row names the columns."""
    sheet = random.choice((table.many.title(), "Data", "Sheet1", "Export"))
    opening = random.choice(
        (
            f'header, *body = extract(path, mode="light")["{sheet}"].rows',
            f'book = extract(path, mode="light")\nheader, *body = book["{sheet}"].rows',
            f'sheet = extract(path, mode="light").sheets["{sheet}"]\nheader, body = sheet.rows[0], sheet.rows[1:]',
        )
    )
    says = (
        f"The sheet `{sheet}` of the workbook at `path` has a row of column names ({_columns(table)}) and "
        "then a row for "
        f"each {table.one}; read it with `exstruct`.",
        f"My {table.many} are in the sheet `{sheet}` of an Excel file, column names {_columns(table)} on top. "
        "Please use "
        "the library exstruct to read it.",
    )

    def write(rows: Sequence[Row], _: Random) -> bytes:
        return workbook({sheet: [_header(table), *_cells(table, rows)]})

    return Source("xlsx", f"{opening}\n{random.choice(_ROWS)}", says, (EXSTRUCT,), write)


def titled_sheet(table: Table, random: Random) -> Source:
    """One sheet with a title above the column names and a closing line below the rows."""
    sheet = random.choice((table.many.title(), "Report", "Overview"))
    opening = random.choice(
        (
            f'_, header, *body, _ = extract(path, mode="light")["{sheet}"].rows',
            f'found = extract(path, mode="light")["{sheet}"].rows\nheader, body = found[1], found[2:-1]',
            f'found = extract(path, mode="light")["{sheet}"].rows[1:-1]\nheader = found.pop(0)\nbody = found',
        )
    )
    says = (
        f"The sheet `{sheet}` of the workbook at `path` has a title in its first row, column names "
        f"({_columns(table)}) in "
        f"the next, a row for each {table.one}, and a closing note in its last row; read it with `exstruct`.",
        f"An Excel file has a sheet `{sheet}`: a title, then the names {_columns(table)}, then my "
        f"{table.many}, and at the "
        "very end a remark that isn't data. Please use the library exstruct to read it.",
    )

    def write(rows: Sequence[Row], random: Random) -> bytes:
        title = [f"{table.many.title()} of {random.choice(('the year', 'our office', 'the group'))}"]
        return workbook({sheet: [title, _header(table), *_cells(table, rows), [f"{len(rows)} {table.many}"]]})

    return Source("xlsx", f"{opening}\n{random.choice(_ROWS)}", says, (EXSTRUCT,), write)


def many_sheets(table: Table, random: Random) -> Source:
    """Several sheets with the same columns, one after the other."""
    code = random.choice(
        (
            '«rows» = []\nfor sheet in extract(path, mode="light").sheets.values():\n    header, *body = sheet.rows\n'
            "    «rows».extend({header.c[column]: value for column, value in cells.c.items()} for cells in body)",
            'book = extract(path, mode="light")\n«rows» = []\nfor _, sheet in book:\n    header = sheet.rows[0].c\n'
            "    for cells in sheet.rows[1:]:\n"
            "        «rows».append({name: cells.c[column] for column, name in header.items()})",
            'sheets = extract(path, mode="light").sheets\n«rows» = [\n'
            "    {name: cells.c[column] for column, name in sheet.rows[0].c.items()}\n"
            "    for sheet in sheets.values()\n    for cells in sheet.rows[1:]\n]",
        )
    )
    says = (
        f"The workbook at `path` has several sheets, each with a row of column names ({_columns(table)}) and "
        "then a row "
        f"for each {table.one}; read them with `exstruct` and take the rows of all sheets, in order.",
        f"The {table.many} are spread over the sheets of an Excel file (every sheet starts with the names "
        f"{_columns(table)}); put them together in order. Please use the library exstruct to read it.",
    )

    def write(rows: Sequence[Row], random: Random) -> bytes:
        cut = random.randint(2, len(rows) - 2)
        names = random.choice((("North", "South"), ("Early", "Late"), ("A", "B")))
        parts = (rows[:cut], rows[cut:])
        return workbook({name: [_header(table), *_cells(table, part)] for name, part in zip(names, parts, strict=True)})

    return Source("xlsx", code, says, (EXSTRUCT,), write)


def lettered_sheet(table: Table, random: Random) -> Source:
    """One sheet without column names: the letters of columns say what they are."""
    sheet = random.choice((table.many.title(), "Raw", "Dump"))
    letters = {chr(ord("A") + place): column for place, column in enumerate(table.columns)}
    pairs = ", ".join(f'"{letter}": "{column}"' for letter, column in letters.items())
    code = random.choice(
        (
            f'names = {{{pairs}}}\nsheet = extract(path, mode="light", alpha_col=True)["{sheet}"]\n'
            "«rows» = [{names[letter]: value for letter, value in cells.c.items()} for cells in sheet.rows]",
            f'columns = "{" ".join(letters.values())}".split()\n«rows» = []\n'
            f'for cells in extract(path, mode="light")["{sheet}"].rows:\n'
            "    «rows».append({columns[int(index)]: value for index, value in cells.c.items()})",
            f"names = {{{pairs}}}\n«rows» = []\n"
            f'for cells in extract(path, mode="light", alpha_col=True)["{sheet}"].rows:\n'
            "    «row» = {}\n    for letter in cells.c:\n        «row»[names[letter]] = cells.c[letter]\n"
            "    «rows».append(«row»)",
        )
    )
    named = ", ".join(f"{letter} is the {column}" for letter, column in letters.items())
    says = (
        f"The sheet `{sheet}` of the workbook at `path` has a row for each {table.one} and no row of names; by column, "
        f"{named}. Read it with `exstruct`.",
        f"An Excel file lists {table.many} in the sheet `{sheet}` without a header: {named}. Please use the library "
        "exstruct to read it.",
    )

    def write(rows: Sequence[Row], _: Random) -> bytes:
        return workbook({sheet: _cells(table, rows)})

    return Source("xlsx", code, says, (EXSTRUCT,), write)


# ---- files that the standard library reads -------------------------------------------------------------


def _kinds(table: Table) -> str:
    """The entries of a dictionary that turn the texts of the number columns into numbers."""
    return ", ".join(
        f'"{name}": {"float" if quarters else "int"}(«row»["{name}"])' for name, (*_, quarters) in table.numbers.items()
    )


def _typed(table: Table) -> str:
    names = [f"`{name}` ({'decimal' if quarters else 'whole'})" for name, (*_, quarters) in table.numbers.items()]
    return " and ".join(names)


def delimited(table: Table, random: Random) -> Source:
    """Comma- or semicolon-separated values with a header."""
    mark, name, suffix = random.choice(((",", "commas", "csv"), (";", "semicolons", "csv"), ("\t", "tabs", "tsv")))
    option = "" if mark == "," else f', delimiter="{mark}"'.replace("\t", "\\t")
    split = repr(mark).replace("'", '"')
    code = random.choice(
        (
            'with open(path, newline="", encoding="utf-8") as file:\n    «rows» = list(csv.DictReader(file$))\n'
            "«rows» = [{**«row», §} for «row» in «rows»]",
            '«rows» = []\nwith open(path, newline="", encoding="utf-8") as file:\n'
            "    for «row» in csv.DictReader(file$):\n"
            "        «rows».append({**«row», §})",
            f'header, *body = Path(path).read_text(encoding="utf-8").splitlines()\nnames = header.split({split})\n'
            f"«rows» = [dict(zip(names, text.split({split}))) for text in body]\n"
            "«rows» = [dict(«row», **{§}) for «row» in «rows»]",
        )
    )
    imports = ("import csv",) if "csv." in code else ("from pathlib import Path",)
    says = (
        f"The file at `path` has values separated by {name}: a line of column names ({_columns(table)}), then "
        "a line for "
        f"each {table.one}. Numbers are {_typed(table)}.",
        f"I have {table.many} in a text file, separated by {name}, with {_columns(table)} in its first line. Treat "
        f"{_typed(table)} as numbers.",
    )

    def write(rows: Sequence[Row], _: Random) -> bytes:
        lines = [table.columns, *_cells(table, rows)]
        return "".join(mark.join(map(str, line)) + "\n" for line in lines).encode()

    return Source(suffix, code.replace("$", option).replace("§", _kinds(table)), says, imports, write)


def json_list(table: Table, random: Random) -> Source:
    """A JSON object that holds the list of rows."""
    key = random.choice((table.many, "data", "content"))
    code = random.choice(
        (
            f'with open(path, encoding="utf-8") as file:\n    «rows» = json.load(file)["{key}"]',
            f'«rows» = json.loads(Path(path).read_text(encoding="utf-8"))["{key}"]',
            f'document = json.loads(Path(path).read_bytes())\n«rows» = list(document["{key}"])',
        )
    )
    imports = ("import json", *(("from pathlib import Path",) if "Path" in code else ()))
    says = (
        f"The JSON file at `path` holds an object whose `{key}` is a list with an object for each "
        f"{table.one}; its keys "
        f"are {_columns(table)}.",
        f"I get {table.many} as JSON: a list of objects under `{key}`, each with {_columns(table)}.",
    )

    def write(rows: Sequence[Row], _: Random) -> bytes:
        return (json.dumps({"version": 1, key: list(rows)}, indent=1) + "\n").encode()

    return Source("json", code, says, imports, write)


def json_lines(table: Table, random: Random) -> Source:
    """A JSON object a line."""
    code = random.choice(
        (
            'with open(path, encoding="utf-8") as file:\n'
            "    «rows» = [json.loads(text) for text in file if text.strip()]",
            '«rows» = []\nfor text in Path(path).read_text(encoding="utf-8").splitlines():\n    if text:\n'
            "        «rows».append(json.loads(text))",
            'texts = Path(path).read_text(encoding="utf-8").split("\\n")\n'
            "«rows» = list(map(json.loads, filter(None, texts)))",
        )
    )
    imports = ("import json", *(("from pathlib import Path",) if "Path" in code else ()))
    says = (
        f"The file at `path` has a JSON object a line for each {table.one}, with the keys {_columns(table)}; "
        "lines may be "
        "empty.",
        f"Every line of my file is a JSON object about one {table.one} ({_columns(table)}), though some lines "
        "are blank.",
    )

    def write(rows: Sequence[Row], random: Random) -> bytes:
        lines = [json.dumps(row) for row in rows]
        lines.insert(random.randint(1, len(lines) - 1), "")
        return ("\n".join(lines) + "\n").encode()

    return Source("jsonl", code, says, imports, write)


def elements(table: Table, random: Random) -> Source:
    """XML elements with attributes."""
    tag = table.one
    code = random.choice(
        (
            f'«rows» = [dict(element.attrib) for element in ElementTree.parse(path).iter("{tag}")]\n'
            "«rows» = [{**«row», §} for «row» in «rows»]",
            f'«rows» = []\nfor element in ElementTree.parse(path).getroot().findall("{tag}"):\n'
            "    «row» = dict(element.attrib)\n    «row».update({§})\n    «rows».append(«row»)",
        )
    )
    says = (
        f"The XML file at `path` has a root with an element `{tag}` for each {table.one}; its attributes are "
        f"{_columns(table)}. Numbers are {_typed(table)}.",
        f"My {table.many} are `{tag}` elements of an XML file, with the attributes {_columns(table)}. Treat "
        f"{_typed(table)} as numbers.",
    )

    def write(rows: Sequence[Row], _: Random) -> bytes:
        lines = (
            f"  <{tag} {' '.join(f'{name}={quoteattr(str(value))}' for name, value in row.items())}/>\n" for row in rows
        )
        return f"<list>\n{''.join(lines)}</list>\n".encode()

    return Source("xml", code.replace("§", _kinds(table)), says, ("from xml.etree import ElementTree",), write)


def log_lines(table: Table, random: Random) -> Source:
    """Lines of `key=value` pairs, with remarks between them."""
    code = random.choice(
        (
            '«rows» = []\nfor text in Path(path).read_text(encoding="utf-8").splitlines():\n'
            '    if text.startswith("#"):\n'
            '        continue\n    «row» = dict(pair.split("=") for pair in text.split())\n'
            "    «rows».append({**«row», §})",
            'with open(path, encoding="utf-8") as file:\n'
            '    «rows» = [dict(pair.split("=") for pair in text.split()) for text in file if text[0] != "#"]\n'
            "for «row» in «rows»:\n    «row».update({§})",
        )
    )
    imports = ("from pathlib import Path",) if "Path" in code else ()
    says = (
        f"The text file at `path` has a line of `key=value` pairs, separated by blanks, for each {table.one} (keys: "
        f"{_columns(table)}); lines that begin with # are remarks. Numbers are {_typed(table)}.",
        f"A log has one line per {table.one}, such as `a=1 b=x`, with the keys {_columns(table)}; skip lines "
        "that start "
        f"with #. Treat {_typed(table)} as numbers.",
    )

    def write(rows: Sequence[Row], random: Random) -> bytes:
        lines = [" ".join(f"{name}={value}" for name, value in row.items()) for row in rows]
        lines.insert(random.randint(0, len(lines) - 1), f"# {table.many}, as of {random.randint(1, 28)} December")
        return ("\n".join(lines) + "\n").encode()

    return Source("log", code.replace("§", _kinds(table)), says, imports, write)


WORKBOOKS = (plain_sheet, titled_sheet, many_sheets, lettered_sheet)
FILES = (delimited, json_list, json_lines, elements, log_lines)
