"""calibrate: thresholds by target recall on the validation records, and whether surprise is the right tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.calibration import categories, judge
from sm_ops.calibration.sample import sample
from sm_ops.core import fs
from sm_ops.masking.conditions import operating_points
from sm_ops.steps._base import base_tokenizer
from sm_ops.steps._masking import Labelled, labelled, scores_of

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Calibrate every reference that was scored; the one that `masking.reference` names decides."""
    data = labelled(context.inputs["calibration"], base_tokenizer(settings, context))
    references = {
        name.partition("/")[2]: _calibrate(settings.masking, data, path)
        for name, path in context.inputs.items()
        if name.startswith("scores/")
    }
    fs.write_json(context.outputs["calibration"], {"references": references})
    chosen = references[settings.masking.reference]
    return {
        "auroc": chosen["auroc"],
        "decision": chosen["verdict"]["decision"],
        "target_tokens": chosen["target_tokens"],
        "other_tokens": chosen["other_tokens"],
        **{f"auroc_{name}": each["auroc"] for name, each in references.items()},
    }


def _calibrate(masking: Any, data: Labelled, scores: Path) -> dict[str, Any]:
    """Everything the threshold decides on downstream tokens: one critical value a token holds it all."""
    own = sample(data.records, scores_of(scores, data.records), data.tokens, masking)
    judgement = judge.judge(own, operating_points(masking), masking.acceptable_collateral, masking.confidence)
    if masking.by is not None:
        judgement["categories"] = judge.categories(own, categories.names(data.records, masking.by))
    return judgement
