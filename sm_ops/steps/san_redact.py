"""san_redact: the records without what the chosen filter masks and without every labelled span."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.records import Record
from sm_ops.data.records import read_records, write_records
from sm_ops.masking.redact import PLACEHOLDER, Interval, redact
from sm_ops.masking.redaction import Counts, union
from sm_ops.sanitizing import levels
from sm_ops.sanitizing.profiles import Profile

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


CHOICE = ("filter", "tau", "decision", "reason")


def run(settings: Settings, context: Context) -> Numbers:
    """Write the redacted records, of which id and text alone are kept; what was removed where; counts of it.

    Of a corpus that is cut several times a record is cleaned by what the first fold chose that has it on its
    application side. Where a fold has no filter to take, nothing is written of it: text that nobody cleaned is not for
    the public. `unwritten` counts what no fold cleans.
    """
    choices = {
        key.partition("/")[2]: fs.read_json(path)["choice"]
        for key, path in context.inputs.items()
        if key.startswith("measures/")
    }
    counts, alone = Counts(), Counts()
    with context.outputs["places"].open("w", encoding="utf-8") as places:

        def redacted() -> Iterator[Record]:
            cleaned: set[str] = set()
            for fold, choice in choices.items():
                for record, masked in _masked(fold, choice, context):
                    if record.id in cleaned:
                        continue
                    cleaned.add(record.id)
                    removed = union(record, masked)
                    places.write(json.dumps({"id": record.id, "intervals": removed}, ensure_ascii=False) + "\n")
                    counts.add(record, removed)
                    alone.add(record, masked)
                    yield replace(redact(record, removed), group=None, spans=(), meta={})

        write_records(context.outputs["redacted"], redacted())
    told = {
        "placeholder": PLACEHOLDER,
        "point": None,
        "choices": {fold: {name: choice[name] for name in CHOICE} for fold, choice in choices.items()},
        **counts.told(),
        "unwritten": _records(fs.read_json(context.inputs["corpus"])) - counts.records,
        "spans_by_point": alone.coverage,
    }
    fs.write_json(context.outputs["redaction"], told)
    return {
        "records": counts.records,
        "intervals": counts.intervals,
        "removed_chars": counts.removed,
        "spans": sum(counts.spans.values()),
        "spans_covered": sum(counts.covered.values()),
    }


def _records(corpus: dict[str, Any]) -> int:
    """How many records there are to clean: of a corpus that is cut into folds all of both halves."""
    halves = ("records-0", "validation-0") if corpus["divided"] else ("records-0",)
    return sum(corpus["sides"][name]["records"] for name in halves)


def _masked(fold: str, choice: dict[str, Any], context: Context) -> Iterator[tuple[Record, list[Interval]]]:
    """The records of a fold with what the chosen filter masks of each."""
    if choice["filter"] is None:
        return
    rows = levels.read(context.inputs[f"levels/{fold}/{choice['filter']}"])
    for record, row in zip(read_records(context.inputs[f"records/{fold}"]), rows, strict=True):
        profile = Profile.of(len(record.content), row.starts, row.ends, row.levels)
        yield record, [] if choice["tau"] is None else profile.masked(choice["tau"])
