"""rank_score: reference scores of every output of both sides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core import registry
from sm_ops.core.settings import Settings
from sm_ops.data.records import read_records
from sm_ops.sanitizing import crossfit
from sm_ops.scoring.scores import write_scores
from sm_ops.scoring.shards import score_in_shards

if TYPE_CHECKING:
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """One score file a side; what was cross-fitted scores each validation output by the part that never saw it."""
    given, fitted = settings.reference, context.inputs.get("fitted")
    whole = _load(given, given.model if fitted is None else str(fitted / crossfit.WHOLE))
    tokens = 0
    for side in ("validation", "application"):
        records = list(read_records(context.inputs[side]))
        if side == "validation" and fitted is not None and given.fit is None:
            scored = crossfit.CrossFitted(fitted, lambda part: _load(given, str(part))).score(records)
        else:
            folder = context.scratch / side
            scored = score_in_shards(whole, records, folder, context.progress, given.workers, given.engine)
        write_scores(context.outputs[side], scored, whole.source)
        tokens += sum(int(each.tokens.eligible.sum()) for each in scored)
    return {"tokens": tokens}


def _load(given: Settings, model: str | Path) -> Any:
    return registry.load("reference", given.backend).load(Settings({**given.plain(), "model": model, "examples": []}))
