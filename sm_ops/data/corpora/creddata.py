"""CredData: contexts of real repositories with credentials and look-alikes (Samsung/CredData; paper, A.3).

A line is a context: `id`, `repo`, `ext`, `text` and `spans` of `start`, `end`, `category` and `label`. Label `true` is
a target with its category, `false` other content like the code around it, `ambiguous` left out of all counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.data import regimes
from sm_ops.data.corpora._reading import Document, Reading, documents, kept, marks, name, place, refuse, with_defaults

RULE = SETTING = "creddata"
CODE = True
REGIMES = tuple(regimes.REGIMES)
LABELS = ("true", "false", "ambiguous")
AMBIGUOUS = ("left_out", "other")
_DEFAULTS = {"ambiguous": "left_out"}


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row is a context: it names its repository, and its spans say true, false or ambiguous."""
    spans = row.get("spans")
    return "repo" in row and isinstance(spans, list) and all(_is_anchor(span) for span in spans)


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a context, its group the repository, its spans the true credentials labelled by category.

    Reads `ambiguous`: left_out (of all counts), or other (other content, as the paper's A.3 has it). `meta.ext` is the
    file's extension, `meta.anchors` how many true, false and ambiguous strings there are of each category.
    Raises `InputError` that names file, line and field.
    """
    values = with_defaults("creddata", settings, _DEFAULTS)
    if values["ambiguous"] not in AMBIGUOUS:
        hint = f"The setting `ambiguous` of the corpus 'creddata' is {' or '.join(AMBIGUOUS)}."
        raise InputError("bad-setting", hint)
    file, skipped = place("creddata", path), Counter()
    return Reading(_records(file, values["ambiguous"] == "left_out", skipped), skipped)


def _records(file: Path, leave_out: bool, skipped: Counter[str]) -> Iterator[Record]:
    for document in documents("creddata", file, skipped):
        targets, unclear, anchors = _labelled(document)
        meta = kept(document.row, ("ext", "split")) | {"anchors": anchors}
        if unclear and leave_out:
            meta["left_out"] = unclear
        repository = name(document.row, "repo", document.where)
        yield Record(document.id, text=document.text, group=repository, spans=tuple(targets), meta=meta)


def _labelled(document: Document) -> tuple[list[Span], list[list[int]], dict[str, dict[str, int]]]:
    """Targets, what is unclear, and the number of anchors by category and label."""
    targets, unclear = [], []
    anchors: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(LABELS, 0))
    for start, end, mark, field in marks(document):
        where = f"{document.where}, {field}"
        label, category = name(mark, "label", where), name(mark, "category", where)
        if label not in LABELS:
            refuse(where, "label", f"is none of {', '.join(LABELS)}")
        anchors[category][label] += 1
        if label == "true":
            targets.append(Span(start, end, category))
        elif label == "ambiguous":
            unclear.append([start, end])
    return targets, unclear, dict(sorted(anchors.items()))


def _is_anchor(span: Any) -> bool:
    return isinstance(span, dict) and span.get("label") in LABELS and "category" in span
