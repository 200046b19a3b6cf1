"""score: reference log probabilities of the calibration and training records, resumed at the last whole shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sm_ops.core import registry
from sm_ops.core.settings import Settings
from sm_ops.data.records import read_records
from sm_ops.scoring.scores import write_scores
from sm_ops.scoring.shards import score_in_shards

if TYPE_CHECKING:
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """One score file for each of the two splits."""
    reference = _load(settings, context)
    tokens = scored_tokens = 0
    for split in ("calibration", "train"):
        records = list(read_records(context.inputs[split]))
        scored = score_in_shards(reference, records, context.scratch / split, progress=context.progress)
        write_scores(context.outputs[split], scored, reference)
        tokens += sum(len(s.tokens) for s in scored)
        scored_tokens += sum(int((s.logprobs == s.logprobs).sum()) for s in scored)
    return {"tokens": tokens, "scored_tokens": scored_tokens}


def _load(settings: Settings, context: Context) -> Any:
    reference = settings.reference
    fitted = context.inputs.get("fitted") or context.inputs.get("base")
    model = str(fitted) if fitted else reference.model or settings.base.name
    if reference.backend == "hf":
        import torch

        torch.set_num_threads(reference.threads)
    clean = read_records(context.inputs["reference"])
    examples = [record.content for record, _ in zip(clean, range(reference.examples), strict=False)]
    load_settings = Settings({**reference.plain(), "model": model, "examples": examples})
    return registry.load("reference", reference.backend).load(load_settings)
