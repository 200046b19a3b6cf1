"""What a task is put together from: a piece of code, the same thing in words twice, and the same thing done here.

Nothing is run to learn what a right answer is: each part says in `apply` what its code computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from sm_ops.data.tasks.tables import Row, Table

Apply = Callable[[list[Row]], Any]


@dataclass(frozen=True, slots=True)
class Slip:
    """The code with one mistake, and what it computes then."""

    code: str
    apply: Apply


@dataclass(frozen=True, slots=True)
class Part:
    """A step from rows to rows, or the last one from rows to the answer.

    `code` are lines of the body of a function, over the names in angles (see `Words`); it may need `imports`.
    """

    code: str
    says: tuple[str, str]
    apply: Apply
    slips: tuple[Slip, ...]
    imports: tuple[str, ...] = ()
    names: str = ""
    """What the answer is called in a function's name."""


@dataclass(frozen=True, slots=True)
class Words:
    """The names of variables in one solution."""

    rows: str
    row: str
    found: str

    def fill(self, code: str) -> str:
        """Code with its names."""
        return code.replace("«rows»", self.rows).replace("«row»", self.row).replace("«found»", self.found)


WORDS = (
    Words("rows", "row", "found"),
    Words("records", "record", "result"),
    Words("entries", "entry", "answer"),
    Words("lines", "line", "output"),
    Words("items", "item", "collected"),
    Words("table", "current", "summary"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """What a part is made for: the table, its rows as read, and the choices of one random stream."""

    table: Table
    rows: Sequence[Row]
    random: Random

    def category(self) -> str:
        """One of the category columns."""
        return self.random.choice(list(self.table.categories))

    def number(self) -> str:
        """One of the number columns."""
        return self.random.choice(list(self.table.numbers))

    def value(self, column: str) -> Any:
        """A value that the column has in some row."""
        return self.random.choice([row[column] for row in self.rows])
