"""audit_attack: one attack on one model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from sm_ops.attacks.filling import load_filler
from sm_ops.attacks.material import Material, Shadow
from sm_ops.attacks.running import run_attack
from sm_ops.core import fs
from sm_ops.core.seeds import derive
from sm_ops.detectors.taggers import load_tagger
from sm_ops.scoring.models.hf import HFModel
from sm_ops.steps._base import base_location, base_tokenizer
from sm_ops.steps._models import measured_model
from sm_ops.steps._splits import read_split
from sm_ops.training import models

if TYPE_CHECKING:
    from pathlib import Path

    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Outcomes as rows of names and numbers, never a string of the data."""
    torch.set_num_threads(settings.probe.threads)
    ((name, chosen),) = settings.attack.plain().items()
    tokenizer = base_tokenizer(settings, context)
    members, others = (read_split(context.inputs[split]) for split in ("train", "others"))
    material = Material(
        records=members,
        others=others,
        classes=settings.classes,
        tagger=load_tagger("+".join(settings.tagger.plain()), [*members, *others]),
        fill=None if settings.filling.model is None else load_filler(settings.filling.model, settings.filling.how),
        shadows=[
            Shadow(_model(settings, context, tokenizer, folder), frozenset(fs.read_json(seen)))
            for folder, seen in _shadows(context)
        ],
    )
    model = HFModel(measured_model(settings, context, settings.probe.device), tokenizer, settings.probe.token_budget)
    seed = derive(settings.seed, "audit", name)
    rows = run_attack(name, model, material, chosen, seed, context.progress)
    fs.write_json(context.outputs["rows"], rows)
    return {"rows": len(rows)}


def _shadows(context: Context) -> list[tuple[Path, Path]]:
    """Folder and seen ids of each shadow model."""
    found = sorted(name.removesuffix("/model") for name in context.inputs if name.endswith("/model"))
    return [(context.inputs[f"{name}/model"], context.inputs[f"{name}/seen"]) for name in found]


def _model(settings: Settings, context: Context, tokenizer: Any, folder: Path) -> HFModel:
    where, revision = base_location(settings, context), settings.base.revision
    trained = models.load_trained(folder, where, revision, settings.probe.device)
    return HFModel(trained, tokenizer, settings.probe.token_budget)
