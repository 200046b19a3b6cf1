"""rank_measure: what each score separates, with thresholds from validation, and what length and year do alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.data.records import read_records
from sm_ops.ranking.measuring import Side, measure
from sm_ops.scoring.scores import read_scores

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write measures.json; the key number is the first score's AUROC on the application side."""
    scores = {name: getattr(settings.scores, name) for name in settings.scores.plain()}
    references = {each.reference for each in scores.values()}
    validation, application = (_side(name, references, context) for name in ("validation", "application"))
    measures = measure(validation, application, scores, settings.acceptable_collateral, settings.coverage)
    fs.write_json(context.outputs["measures"], measures)
    first = next(iter(measures["scores"].values()))
    return {"auroc": first["application"]["auroc"]["value"], "scores": len(scores)}


def _side(name: str, references: set[str], context: Context) -> Side:
    records = list(read_records(context.inputs[name]))
    scored = {each: read_scores(context.inputs[f"scores/{each}/{name}"])[0] for each in sorted(references)}
    return Side(records, scored)
