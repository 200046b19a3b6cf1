"""Files of the steps' own: documents, predictions, canaries, answers; a JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file that a step wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        return [json.loads(line) for line in file]


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Objects as lines of UTF-8 JSON, their keys in their own order (G3)."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
