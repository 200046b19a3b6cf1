"""rewrite_score: what a selector says of every sentence and segment of both sides; nothing is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs, registry
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.data.records import read_records
from sm_ops.rewriting.scores import by_chance, by_detector, by_surprise, scorer
from sm_ops.rewriting.selection import separation

if TYPE_CHECKING:
    from sm_ops.core.stage import Context, Numbers

SIDES = ("validation", "records")


def run(settings: Settings, context: Context) -> Numbers:
    """Write places and scores of units, and how well sentences with private content separate from others."""
    score = _scorer(settings, context)
    told: dict[str, Any] = {}
    for side in SIDES:
        records = list(read_records(context.inputs[side]))
        table = score(records)
        told[side] = {**table, "separation": separation(records, table["sentence"])}
        context.progress(SIDES.index(side) + 1, len(SIDES))
    fs.write_atomic(context.outputs["scores"], fs.canonical_json(told))
    separated = told["validation"]["separation"]
    return {
        "sentences": sum(map(len, told["records"]["sentence"])),
        "auroc": None if separated is None else separated["auroc"]["value"],
    }


def _scorer(settings: Settings, context: Context) -> Callable[[Sequence[Record]], dict[str, Any]]:
    selector = settings.selector
    if selector.kind == "random":
        return lambda records: by_chance(records, settings.data.seed)
    if selector.kind == "detector":
        detector = registry.load("detector", selector.detector).load(selector.settings.plain())
        return lambda records: by_detector(records, detector)
    model = str(context.inputs["fitted"]) if "fitted" in context.inputs else settings.reference.model
    reference = Settings({**settings.reference.plain(), "model": model, "examples": []})
    score = scorer(reference, registry.load("reference", reference.backend).load)
    aggregates = {"sentence": settings.aggregate, "segment": "mean"}
    return lambda records: by_surprise(records, score, aggregates)
