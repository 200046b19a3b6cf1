"""Case kinds of the training side: one function per kind in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from sm_ops.masking.labels import IGNORED, labels
from sm_ops.training.interventions import allowed, effective_passes, weakened
from sm_ops.training.trainer import masked_loss, split_loss

Input = dict[str, Any]


def _masked_loss(case: Input) -> Input:
    """A model of two words that gives word 1 the case's probabilities; position 0 only stands before the first.

    With the denominator of all supervised tokens the loss is the unselected part of the gradient interventions.
    """
    supervised, mask = (np.array(case[key], bool) for key in ("sup", "mask"))
    lp = torch.tensor(case["lp"], dtype=torch.float64)
    right = torch.stack([torch.log(-torch.expm1(lp)), lp], dim=1)
    logits = torch.cat([right, torch.zeros(1, 2, dtype=torch.float64)])[None]
    ids = np.ones(len(lp), np.int64)
    if case.get("denom") == "supervised":
        learned = torch.tensor([IGNORED, *labels(ids, supervised, np.zeros(len(lp), bool))])[None]
        masked = torch.tensor([False, *mask])[None]
        others, _ = split_loss(logits, learned, masked, int((learned != IGNORED).sum()))
        return {"loss": others.item()}
    learned = torch.tensor([IGNORED, *labels(ids, supervised, mask)])[None]
    return {"loss": masked_loss(logits, learned, int((learned != IGNORED).sum())).item()}


def _gradient(case: Input) -> Input:
    """Losses that are linear in the parameters, so that the case's vectors are their gradients."""
    vectors = {name: [torch.tensor(each, dtype=torch.float64) for each in case[name]] for name in ("gb", "gs")}
    parameters = [torch.nn.Parameter(torch.zeros_like(each)) for each in vectors["gb"]]
    others, selected = (
        sum((vector * parameter).sum() for vector, parameter in zip(vectors[name], parameters, strict=True))
        for name in ("gb", "gs")
    )
    loss, multiplier = weakened(others, selected, parameters, case["mode"])
    loss.backward()
    return {"g": [parameter.grad.tolist() for parameter in parameters], "multiplier": multiplier.item()}


def _attention(case: Input) -> Input:
    masked = torch.tensor([case["mask"]], dtype=torch.bool)
    return {"allowed": allowed(masked, torch.ones_like(masked))[0].int().tolist()}


def _passes(case: Input) -> Input:
    return {"passes": effective_passes(case["steps"], case["batch"], case["records"])}


KINDS: dict[str, Callable[[Input], Input]] = {
    "sm.masked_loss": _masked_loss,
    "sm.grad": _gradient,
    "sm.attention": _attention,
    "sm.passes": _passes,
}
