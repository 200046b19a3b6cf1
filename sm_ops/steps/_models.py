"""The model that a step attacks or measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from sm_ops.steps._base import base_location
from sm_ops.training import models

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context


def measured_model(settings: Settings, context: Context, device: str, dtype: str = "float32") -> Any:
    """What a training wrote, or the base model itself where the step reads none (the chance floor).

    An adapter is put onto its base in float32, whatever the `dtype` ("float32" or "bfloat16") of the whole.
    """
    where, revision = base_location(settings, context), settings.base.revision
    if folder := context.inputs.get("model"):
        model = models.load_trained(folder, where, revision, device)
    else:
        model = models.load(where, revision).to(models.pick_device(device))
    return model.to(getattr(torch, dtype))
