"""A table of people, in which those who share some attributes are counted: it stands for CorrectMatch (choice R-3)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sm_ops.core.errors import InputError


class Population:
    """Attribute columns as codes; `people` is how many persons the table was drawn from (null: the table is all)."""

    def __init__(self, path: str | Path, people: int | None = None) -> None:
        """Read a CSV file with a header of attributes and a person a row; `InputError` for another one."""
        codes: list[dict[str, int]] = []
        columns: list[list[int]] = []
        try:
            with Path(path).open(encoding="utf-8", newline="") as file:
                reader = csv.reader(file)
                self._names = next(reader, [])
                codes, columns = [{} for _ in self._names], [[] for _ in self._names]
                for number, row in enumerate(reader, start=2):
                    if len(row) != len(self._names):
                        hint = f"{path}, line {number}: {len(row)} values under {len(self._names)} headings."
                        raise InputError("bad-population", hint)
                    for known, column, value in zip(codes, columns, row, strict=True):
                        column.append(known.setdefault(value.strip().lower(), len(known)))
        except (OSError, UnicodeDecodeError, csv.Error):
            raise InputError("bad-population", f"{path} is no CSV file of people in UTF-8; check the path.") from None
        self._codes = dict(zip(self._names, codes, strict=True))
        self._columns = {name: np.array(own, np.int32) for name, own in zip(self._names, columns, strict=True)}
        rows = len(columns[0]) if columns else 0
        if not rows:
            raise InputError("bad-population", f"{path} holds no person; a heading and a row a person are needed.")
        self._scale = (people or rows) / rows

    def alike(self, known: Mapping[str, str]) -> float:
        """How many people share these attributes; those that are no columns of the table tell nothing."""
        told = {name: value for name, value in known.items() if name in self._columns}
        same = np.ones(len(next(iter(self._columns.values()))), bool)
        for name, value in told.items():
            same &= self._columns[name] == self._codes[name].get(value.strip().lower(), -1)
        return float(same.sum()) * self._scale if told else np.inf
