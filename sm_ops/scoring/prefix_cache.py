"""Keys and values of a fixed prefix: computed once, repeated for every row of a batch."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any


def argument(model: Any) -> str:
    """How this transformers version names the cache (`past_key_values` goes away in 5.40)."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model  # peft hides the signature
    return "cache" if "cache" in inspect.signature(type(inner).forward).parameters else "past_key_values"


def prefill(model: Any, ids: Sequence[int]) -> tuple[Any, Any]:
    """Run `ids` as one row; returns the cache and the float32 logits (V,) after the last id."""
    import torch

    output = model(torch.tensor([list(ids)], device=model.device), use_cache=True, logits_to_keep=1)
    return output[argument(model)], output.logits[0, -1].float()


def repeated(cache: Any, rows: int) -> Any:
    """A copy of a one-row cache with `rows` equal rows; the original stays usable."""
    cache = copy.deepcopy(cache)
    cache.batch_repeat_interleave(rows)
    return cache
