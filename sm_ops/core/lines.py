"""Tables as JSON lines behind a line with their format, where a machine has no pyarrow for Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core import fs

SUFFIX = ".jsonl"


def write(path: Path, form: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns of equal length; arrays become lists."""
    rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    lines = (json.dumps(row, default=lambda array: array.tolist()) for row in ({"sm_ops_format": form}, *rows))
    fs.write_atomic(path, "".join(f"{line}\n" for line in lines).encode())


def read(path: Path, names: Iterable[str]) -> tuple[str, list[list[Any]]]:
    """The format (`none` where the file tells none), and the columns that are named."""
    rows = _rows(path)
    form = next(rows, {}).get("sm_ops_format", "none")
    found = list(rows) if form != "none" else []
    return form, [[row[name] for row in found] for name in names]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)
