"""san_levels: what one filter says of every character of both sides, written as it comes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sm_ops.core import registry
from sm_ops.core.fs import read_json
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.data.records import read_records
from sm_ops.detectors.batches import detect_rows, own_threshold
from sm_ops.sanitizing import crossfit, levels
from sm_ops.sanitizing.context import behind, noted
from sm_ops.sanitizing.levels import Filter, Row
from sm_ops.sanitizing.rules import rule_of
from sm_ops.steps._references import APPLICATION, VALIDATION, as_text, scoring

if TYPE_CHECKING:
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write a file of levels a side; count intervals and, of a scorer, the reference tokens that it read."""
    counts = {"intervals": 0}
    for side in (VALIDATION, APPLICATION):
        begins: dict[str, int] = {}
        records = noted(map(as_text, read_records(context.inputs[side])), begins)
        if settings.filter.detector:
            source, rows = _detected(settings, context, side, records)
        else:
            source, rows = _scored(settings, context, side, records, counts)
        levels.write(context.outputs[side], source, _counted(behind(rows, begins), counts))
    return dict(counts)


def _counted(rows: Iterable[Row], counts: dict[str, int]) -> Iterator[Row]:
    for row in rows:
        counts["intervals"] += len(row.levels)
        yield row


def _scored(
    settings: Settings, context: Context, side: str, records: Iterable[Record], counts: dict[str, int]
) -> tuple[Filter, Iterator[Row]]:
    own, reference = settings.filter, scoring(settings.reference, context, side)
    corpus = read_json(context.inputs["corpus"])
    rule = rule_of(own.rule.plain(), corpus["rule"], contrast=settings.reference.violating is not None)
    given = Settings({**own.settings.plain(), "rule": rule})
    scorer = registry.load("scorer", own.kind)

    def rows() -> Iterator[Row]:
        yield from scorer.rows(records, reference, given)
        counts["tokens"] = counts.get("tokens", 0) + reference.tokens

    published = None if own.settings.plain().get("tuned") else getattr(scorer, "AT", None)
    return Filter(settings.name, "surprise", published), rows()


def _detected(
    settings: Settings, context: Context, side: str, records: Iterable[Record]
) -> tuple[Filter, Iterator[Row]]:
    own = settings.filter
    name, given = own.detector, own.settings.plain()
    found = _by_part(own, given, context, side, records)
    rows = (levels.of_detections(record.id, detections) for record, detections in found)
    return Filter(settings.name, "detector", own_threshold(name, given)), rows


def _by_part(own: Settings, given: dict[str, Any], context: Context, side: str, records: Iterable[Record]) -> Any:
    """What a detector finds; one that was trained here judges on validation no record that it has seen."""
    fitted = context.inputs.get("fitted")
    if fitted is None:
        return detect_rows(own.detector, given, records, own.workers)
    if side != VALIDATION:
        return detect_rows(own.detector, given | {"model": str(fitted / crossfit.WHOLE)}, records, own.workers)
    dealt, pool = crossfit.part_of(fitted), list(records)
    found = {
        record.id: detections
        for part in sorted(set(dealt.values()))
        for record, detections in detect_rows(
            own.detector,
            given | {"model": str(fitted / part)},
            [record for record in pool if dealt[record.id] == part],
            own.workers,
        )
    }
    return ((record, found[record.id]) for record in pool)
