"""The log probability of a span under temperature, top-k and top-p, from the full step distributions (paper G.2).

A span's probability at temperature 1 does not determine it at another: each step's whole distribution counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError


def step_logprobs(
    logits: np.ndarray, targets: np.ndarray, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0
) -> np.ndarray:
    """ln q of each target (float64 of length m, nats) when decoding draws from the given steps.

    `logits` (m, V) hold one step a row, `targets` (m,) the ids that must be drawn. The order is that of
    transformers: temperature, the `top_k` largest (0 = all), then the smallest set of largest tokens whose mass
    reaches `top_p`, each renormalised. What ties with the last kept token is kept too (OP-56). A target that is
    left out has minus infinity. Temperature 0 is the limit: all mass on the largest logit, tied ones share it.
    Raises `InputError` for settings that are no decoding and for logits that are NaN or infinite.
    """
    if not (temperature >= 0 and np.isfinite(temperature) and top_k >= 0 and 0 < top_p <= 1):
        raise InputError(
            "bad-decoding",
            f"Decoding needs a temperature of at least 0, top_k of at least 0 (0 = all) and top_p in (0, 1]; they "
            f"are {temperature}, {top_k} and {top_p}.",
        )
    logits = np.asarray(logits, np.float64)
    if not len(logits):
        return np.empty(0)
    size, largest = logits.shape[1], logits.max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        raise InputError(
            "bad-logits", "The model gives logits that are no numbers; run it in float32 or check its weights."
        )
    levels = logits - largest
    levels = levels / temperature if temperature else np.where(levels == 0, 0.0, -np.inf)
    if 0 < top_k < size:
        last = np.partition(levels, size - top_k, axis=1)[:, size - top_k, None]
        levels = np.where(levels >= last, levels, -np.inf)
    if top_p < 1:
        mass = np.exp(_normalised(levels))
        falling = -np.sort(-mass, axis=1)
        reached = np.argmax(falling.cumsum(axis=1) >= top_p, axis=1)  # 0 also where rounding never reaches it
        full = falling.sum(axis=1) >= top_p
        last = np.where(full, falling[np.arange(len(falling)), reached], 0.0)[:, None]
        levels = np.where(mass >= last, levels, -np.inf)
    return _normalised(levels)[np.arange(len(levels)), np.asarray(targets, np.int64)]


def span_logprob(model: Any, prefix: Sequence[int], span: Sequence[int], **decoding: Any) -> float:
    """ln of the chance that a Hugging Face causal model continues `prefix` with exactly `span` (token ids).

    One teacher-forced pass; `decoding` as in `step_logprobs`. Raises `InputError` for an empty prefix.
    """
    import torch

    if not len(prefix):
        raise InputError("empty-prefix", "Nothing precedes the span; begin the prefix with the model's BOS token.")
    ids = torch.tensor([[*prefix, *span]], device=model.device)
    with torch.inference_mode():
        logits = model(ids, use_cache=False).logits[0, len(prefix) - 1 : -1]
    return float(step_logprobs(logits.double().cpu().numpy(), np.asarray(span), **decoding).sum())


def _normalised(levels: np.ndarray) -> np.ndarray:
    """Log probabilities of rows whose largest entry is 0."""
    return levels - np.log(np.exp(levels).sum(axis=1, keepdims=True))
