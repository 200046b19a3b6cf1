"""attack: try to extract every canary from one trained model (or from the base model, the chance floor)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import torch

from sm_ops.core import fs, registry
from sm_ops.core.seeds import derive
from sm_ops.scoring.tokenize import load_tokenizer
from sm_ops.steps._base import base_location
from sm_ops.steps._models import measured_model
from sm_ops.steps._splits import read_canaries

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Outcomes by canary, as numbers; never a continuation."""
    attack = settings.attack
    torch.set_num_threads(attack.threads)
    model = measured_model(settings, context, attack.device)
    tokenizer = load_tokenizer(base_location(settings, context))
    canaries = read_canaries(context.inputs["canaries"])
    member = registry.load("attack", attack.name)
    outcomes = member.run(model, tokenizer, canaries, attack, derive(settings.seed, "attack"))
    fs.write_json(context.outputs["outcomes"], [asdict(outcome) for outcome in outcomes])
    hits = sum(outcome.first_approx is not None for outcome in outcomes)
    return {"extracted": hits, "canaries": len(outcomes)}
