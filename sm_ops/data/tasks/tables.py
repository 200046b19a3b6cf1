"""Tables that tasks are about: what a row is, its columns, and rows drawn for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

Row = dict[str, Any]
"""Texts, whole numbers and decimals by column."""


@dataclass(frozen=True, slots=True)
class Table:
    """A subject: rows with a label of their own, a day, two categories and two numbers."""

    many: str
    one: str
    label: str
    day: str
    categories: dict[str, tuple[str, ...]]
    numbers: dict[str, tuple[int, int, bool]]
    """By column: lowest, highest, and whether quarters come on top (never none: workbooks read 2.0 as 2)."""

    @property
    def columns(self) -> list[str]:
        """All columns, in the order of files."""
        return [self.label, self.day, *self.categories, *self.numbers]


def _table(
    many: str,
    one: str,
    label: str,
    day: str,
    first: str,
    second: str,
    units: tuple[str, int, int],
    money: tuple[str, int, int],
) -> Table:
    categories = {line.split(": ")[0]: tuple(line.split(": ")[1].split()) for line in (first, second)}
    return Table(many, one, label, day, categories, {units[0]: (*units[1:], False), money[0]: (*money[1:], True)})


TABLES = (
    _table("orders", "order", "order", "placed", "region: north south east west", "status: open paid shipped returned",
           ("units", 1, 40), ("price", 3, 90)),
    _table("repairs", "repair", "ticket", "opened", "workshop: harbour station airport", "state: waiting running done",
           ("hours", 1, 16), ("parts", 5, 240)),
    _table("loans", "loan", "barcode", "lent", "branch: central riverside hillside", "genre: crime travel poetry",
           ("renewals", 0, 6), ("fee", 1, 12)),
    _table("deliveries", "delivery", "parcel", "sent", "depot: lyon ghent turin bremen", "carrier: road rail air",
           ("stops", 1, 9), ("weight", 1, 60)),
    _table("readings", "reading", "probe", "taken", "site: roof cellar garden lab", "quality: good fair poor",
           ("samples", 2, 50), ("level", 4, 80)),
    _table("invoices", "invoice", "number", "issued", "client: acorn birch cedar elm", "currency: eur usd gbp",
           ("items", 1, 30), ("amount", 20, 900)),
    _table("shifts", "shift", "badge", "worked", "team: red blue green", "kind: early late night",
           ("breaks", 0, 5), ("length", 3, 11)),
    _table("courses", "course", "code", "starts", "faculty: arts law physics medicine", "format: online hall mixed",
           ("seats", 8, 120), ("tuition", 40, 700)),
    _table("harvests", "harvest", "plot", "picked", "crop: apple pear plum cherry", "grade: table juice waste",
           ("crates", 1, 75), ("sugar", 6, 24)),
    _table("journeys", "journey", "trip", "left", "line: tram bus ferry metro", "fare: child adult senior",
           ("passengers", 5, 180), ("delay", 0, 45)),
    _table("tests", "test", "case", "run", "suite: unit flow smoke load", "outcome: passed failed skipped",
           ("retries", 0, 4), ("seconds", 1, 300)),
    _table("rooms", "room", "key", "cleaned", "floor: ground first second attic", "view: sea court street",
           ("beds", 1, 6), ("rate", 45, 320)),
    _table("pledges", "pledge", "receipt", "received", "campaign: spring summer winter", "channel: web post phone",
           ("months", 1, 24), ("gift", 5, 400)),
    _table("batches", "batch", "lot", "made", "plant: oslo porto gdansk", "product: resin foam film paint",
           ("drums", 1, 48), ("yield", 50, 99)),
)  # fmt: skip
"""Columns are plain words and no names of Python's own."""


def draw_rows(table: Table, random: Random, count: int) -> list[Row]:
    """`count` rows in no order, labels distinct; the first rows take every value of both categories once."""
    first = date(2024, 1, 1)
    labels = random.sample(range(100, 1000), count)
    rows: list[Row] = []
    for index in range(count):
        row: Row = {
            table.label: f"{table.label[0].upper()}{labels[index]}",
            table.day: (first + timedelta(random.randrange(330))).isoformat(),
        }
        for column, values in table.categories.items():
            row[column] = values[index] if index < len(values) else random.choice(values)
        for column, (low, high, quarters) in table.numbers.items():
            row[column] = random.randint(low, high) + (random.choice((0.25, 0.5, 0.75)) if quarters else 0)
        rows.append(row)
    random.shuffle(rows)
    return rows
