"""Which corpus a file is, by its first labelled row: what `auto` stands for."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.data.corpora._reading import place
from sm_ops.data.records import jsonl_rows

AUTO = "auto"
_LOOKED_AT = 1000


def recognise(path: str | Path) -> str:
    """The name of the corpus whose layout a file has; `records`, our own layout, where none recognises it.

    The first of its rows that is labelled (`spans`, tags or annotations that are not empty) is shown to the function
    `recognises` of each corpus that has one. Raises `InputError` for a path where nothing is, and for a layout of
    several corpora.
    """
    row = _row(place(AUTO, path))
    if row is None:
        return "records"
    modules = {name: registry.load("corpus", name) for name in registry.members("corpus")}
    found = [name for name, module in modules.items() if getattr(module, "recognises", lambda _: False)(row)]
    if len(found) > 1:
        raise InputError("many-corpora", f"{path} could be {' or '.join(found)}; say which with corpus.name.")
    return found[0] if found else "records"


def _row(path: Path) -> dict[str, Any] | None:
    """The first labelled row of a file, else its first."""
    if path.suffix == ".json":
        try:
            listed = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            raise InputError("bad-document", f"{path} is no JSON in UTF-8; check the file.") from None
        rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    elif path.suffix == ".jsonl" and path.is_file():
        rows = [row for _, row in islice(jsonl_rows(path), _LOOKED_AT)]
    else:
        return None
    return next((row for row in rows if any(row.get(key) for key in _LABELS)), rows[0] if rows else None)


_LABELS = ("spans", "annotations", "tags")
