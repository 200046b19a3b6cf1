"""attack: try to extract every canary from one trained model (or from the base model, the chance floor)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from sm_ops.attacks.material import Material
from sm_ops.core import fs, registry
from sm_ops.core.seeds import derive
from sm_ops.scoring.models.hf import HFModel
from sm_ops.steps._base import base_tokenizer
from sm_ops.steps._models import measured_model
from sm_ops.steps._splits import read_canaries

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers

_STORED = {
    "id": "case", "kind": "class", "length": "tokens", "hidden": "hidden", "samples": "samples",
    "first_approx": "first_approx", "first_exact": "first_exact", "p_exact": "p_exact",
}  # fmt: skip
"""Names in outcomes.json, and what they are called in an attack's rows."""


def run(settings: Settings, context: Context) -> Numbers:
    """Outcomes by canary, as numbers; never a continuation."""
    attack = settings.attack
    torch.set_num_threads(attack.threads)
    tokenizer = base_tokenizer(settings, context)
    model = HFModel(measured_model(settings, context, attack.device, attack.dtype), tokenizer)
    material = Material(records=(), canaries=read_canaries(context.inputs["canaries"]))
    seed = derive(settings.seed, "attack")
    rows = registry.load("attack", attack.name).run(model, material, attack, seed, context.progress)
    fs.write_json(context.outputs["outcomes"], [{name: row[own] for name, own in _STORED.items()} for row in rows])
    return {"extracted": sum(row["first_approx"] is not None for row in rows), "canaries": len(rows)}
