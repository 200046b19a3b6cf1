"""Case kinds of membership inference: one function per kind in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sm_ops.attacks.members.membership import scores
from sm_ops.metrics import tpr_at_fpr

Input = dict[str, Any]


def _mia(case: Input) -> Input:
    phi = -np.array(case["target_nll"], np.float64)
    models = len(case.get("shadow_nll", []))
    shadow = -np.array(case.get("shadow_nll", []), np.float64).reshape(models, len(phi))
    seen = np.array(case.get("shadow_member", []), bool).reshape(models, len(phi))
    return {"scores": scores(phi, shadow, seen)[case["score"]].tolist()}


def _tpr_at_fpr(case: Input) -> Input:
    value = tpr_at_fpr(np.array(case["scores"], np.float64), np.array(case["labels"], bool), Fraction(case["fpr"]))
    return {"tpr": None if value is None else str(Fraction(value).limit_denominator(10**6))}


KINDS: dict[str, Callable[[Input], Input]] = {"atk.mia": _mia, "atk.tpr_at_fpr": _tpr_at_fpr}
