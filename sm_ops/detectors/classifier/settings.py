"""The settings of a fine-tuned classifier: one set for both, fitting and use, of which each reads what concerns it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.detectors.token_classifier import SETTINGS, with_output
from sm_ops.scoring.arithmetic import positive

FITTING: dict[str, Any] = {
    "encoder": None,
    "revision": None,
    "epochs": 4,
    "learning_rate": None,
    "batch_tokens": 2048,
    "window": 256,
    "seed": 0,
    "vocab_size": 2048,
    "width": 128,
    "layers": 2,
    "heads": 4,
}
"""`encoder` is a folder or a name of the hub; None = a small ModernBERT of `vocab_size`, `width`, `layers`, `heads`.

`learning_rate` None = 2e-3 for the small one, 5e-5 for any other. `window` counts tokens of a text that are read at
once, `batch_tokens` those of an optimiser's step.
"""

USE: dict[str, Any] = {"model": None, "token_budget": 8192}
"""`model` is the folder that fitting wrote, `token_budget` bounds the positions of a batch."""

BOTH: dict[str, Any] = {"device": "auto", "threads": 1}

DEFAULTS = {**FITTING, **USE, **BOTH, **SETTINGS}
ABOUT = "classifier.json"
FORMAT = "classifier/1"


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings, the missing ones filled in; `InputError` for an unknown one, and for a value that does not fit."""
    values = with_output("classifier", settings, DEFAULTS)
    for name in ("epochs", "batch_tokens", "window", "vocab_size", "width", "layers", "heads"):
        positive(name, values[name])
    rate = values["learning_rate"]
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float) or rate <= 0):
        raise InputError("bad-setting", f"learning_rate is {rate!r}, but must be a number above 0, or null.")
    return values
