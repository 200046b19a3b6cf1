"""Case kinds of the training side: one function per kind in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from sm_ops.masking.labels import IGNORED, labels
from sm_ops.training.trainer import masked_loss

Input = dict[str, Any]


def _masked_loss(case: Input) -> Input:
    """A model of two words that gives word 1 the case's probabilities; position 0 only stands before the first."""
    supervised, mask = (np.array(case[key], bool) for key in ("sup", "mask"))
    lp = torch.tensor(case["lp"], dtype=torch.float64)
    right = torch.stack([torch.log(-torch.expm1(lp)), lp], dim=1)
    logits = torch.cat([right, torch.zeros(1, 2, dtype=torch.float64)])[None]
    ids = np.ones(len(lp), np.int64)
    learned = torch.tensor([IGNORED, *labels(ids, supervised, mask)])[None]
    kept = int(supervised.sum()) if case.get("denom") == "supervised" else int((learned != IGNORED).sum())
    return {"loss": masked_loss(logits, learned, kept).item()}


KINDS: dict[str, Callable[[Input], Input]] = {"sm.masked_loss": _masked_loss}
