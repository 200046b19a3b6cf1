"""Rows of ours beside the paper's, whether or not both have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sm_ops.masking.conditions import variant

Json = dict[str, Any]

PAPER_NAMES = {
    "native_opf": "native OPF",
    **{f"SM_{action}": f"SM95_{action}" for action in ("attention", "both", "clip", "scale", "drop")},
}
"""What a row of the paper is called that the run has not made."""


@dataclass(frozen=True, slots=True)
class Column:
    """`unit`: "share" (told in percent), "count" or "number"; `digits` behind the point."""

    name: str
    title: str
    unit: str = "share"
    digits: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """One of ours: what the paper calls it, what we call it, and its cells by column (None: undefined)."""

    key: str
    condition: str
    cells: dict[str, Json | None]


@dataclass(frozen=True, slots=True)
class Table:
    """`topics` are those of `setting` that matter; `titles` name rows by key, where a condition's name does not.

    `remarks` are differences that no fact tells; `more` goes into the JSON as it is.
    """

    title: str
    columns: tuple[Column, ...]
    rows: list[Row]
    paper: dict[str, Json]
    topics: tuple[str, ...]
    titles: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    more: Json = field(default_factory=dict)


def paired(table: Table) -> list[Json]:
    """The paper's rows in their order, then ours that it does not have.

    `{condition, title, ran, published, ours, paper}`: cells by column, None where there is no such number.
    """
    first: dict[str, Row] = {}
    extra = []
    for row in table.rows:
        if row.key in table.paper and row.key not in first:
            first[row.key] = row
        else:
            extra.append(row)
    return [
        *(_pair(table, key, first.get(key)) for key in table.paper),
        *(_pair(table, row.key, row, alone=True) for row in extra),
    ]


def _pair(table: Table, key: str, own: Row | None, alone: bool = False) -> Json:
    names = [column.name for column in table.columns]
    paper = {} if alone else table.paper[key]
    condition = own.condition if own else PAPER_NAMES.get(key, key)
    return {
        "condition": condition,
        "title": table.titles.get(key) or _title(key, condition),
        "ran": own is not None,
        "published": not alone,
        "ours": {name: own.cells.get(name) if own else None for name in names},
        "paper": {name: paper.get(name) for name in names},
    }


def _title(key: str, condition: str) -> str:
    """A condition's name, with its intervention where the whole run had it and the name has it not."""
    plain = key.startswith("SM_") and not variant(condition)
    return f"{condition}_{key.removeprefix('SM_')}" if plain else condition
