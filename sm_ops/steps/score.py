"""score: reference log probabilities of the calibration and training records, resumed at the last whole shard."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sm_ops.core import registry
from sm_ops.core.settings import Settings
from sm_ops.scoring.scores import write_scores
from sm_ops.scoring.shards import score_in_shards
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """One score file for each of the two splits."""
    reference = _load(settings, context)
    tokens = scored_tokens = 0
    for split in ("calibration", "train"):
        records = read_split(context.inputs[split])
        folder, crew = context.scratch / split, settings.reference
        scored = score_in_shards(reference, records, folder, context.progress, crew.workers, crew.engine)
        write_scores(context.outputs[split], scored, reference.source)
        tokens += sum(len(s.tokens) for s in scored)
        scored_tokens += sum(int((s.surprise == s.surprise).sum()) for s in scored)
    return {"tokens": tokens, "scored_tokens": scored_tokens}


def _load(settings: Settings, context: Context) -> Any:
    reference = settings.reference
    fitted = context.inputs.get("fitted") or context.inputs.get("base")
    model = str(fitted) if fitted else reference.model or settings.base.name
    clean = read_split(context.inputs["reference"])[: reference.examples]
    loading = Settings({**reference.plain(), "model": model, "examples": [record.content for record in clean]})
    loaded = registry.load("reference", reference.backend).load(loading)
    if fitted:  # where the folder lies is not what it is called
        loaded.source = replace(loaded.source, reference="fitted")
    return loaded
