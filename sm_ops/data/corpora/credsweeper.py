"""CredSweeper's test samples: files of many formats with synthetic secrets (Samsung/CredSweeper, tests/samples).

A line is a file: `id` (its path), `text` and `spans` of `start`, `end`, `category`, `severity` and `label` (true). The
labels are those that CredSweeper expects of itself, so it cannot be compared with others on them, and a file without
spans is one in which it reports nothing, which is no proof that nothing is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from sm_ops.core.records import Record, Span
from sm_ops.data import regimes
from sm_ops.data.corpora._reading import Reading, documents, kept, marks, name, place, refuse, with_defaults

RULE = "creddata"
CODE = True
REGIMES = tuple(regimes.REGIMES)


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row is such a file: its findings have a category and a severity."""
    spans = row.get("spans")
    return isinstance(spans, list) and bool(spans) and all(_is_finding(span) for span in spans)


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a file, its own group, its spans labelled by category; it has no settings.

    `meta.ext` is the extension of the file's path. Raises `InputError` that names file, line and field.
    """
    with_defaults("credsweeper", settings, {})
    file, skipped = place("credsweeper", path), Counter()
    return Reading(_records(file, skipped), skipped)


def _records(file: Path, skipped: Counter[str]) -> Iterator[Record]:
    for document in documents("credsweeper", file, skipped):
        spans = []
        for start, end, mark, field in marks(document):
            where = f"{document.where}, {field}"
            if name(mark, "label", where) != "true":
                refuse(where, "label", "is not true; contexts with other labels are read by the corpus 'creddata'")
            spans.append(Span(start, end, name(mark, "category", where)))
        meta = {"ext": PurePosixPath(document.id).suffix} | kept(document.row, ("split",))
        yield Record(document.id, text=document.text, group=document.id, spans=tuple(spans), meta=meta)


def _is_finding(span: Any) -> bool:
    return isinstance(span, dict) and {"category", "severity", "label"} <= span.keys()
