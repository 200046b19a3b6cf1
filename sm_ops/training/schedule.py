"""How long a training is, and how its learning rate begins."""

from __future__ import annotations

import math
from typing import Any

from sm_ops.core.errors import InputError


def steps_of(rows: int, settings: Any) -> int:
    """Optimiser steps of `settings.epochs` passes over so many rows, each of which ends with a short step.

    `settings.steps` ends the last pass earlier; see `at_most`.
    """
    return at_most(settings.epochs * math.ceil(math.ceil(rows / settings.batch_size) / settings.accumulation), settings)


def at_most(whole: int, settings: Any) -> int:
    """`settings.steps` of so many steps, or all; `InputError` where the passes have not so many."""
    if settings.steps is not None and settings.steps > whole:
        raise InputError(
            "too-many-steps",
            f"steps is {settings.steps}, but epochs = {settings.epochs} comes to {whole}; raise epochs, or lower it.",
        )
    return whole if settings.steps is None else settings.steps


def warmup_of(steps: int, settings: Any) -> int:
    """Steps in which the rate rises from zero: a share of all, rounded up, or a number."""
    return settings.warmup_steps if settings.warmup_ratio is None else math.ceil(settings.warmup_ratio * steps)
