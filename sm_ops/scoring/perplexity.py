"""Perplexity: exp of the mean negative log likelihood over scored tokens (spec section 17, OP-60)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike


def perplexity(logprobs: ArrayLike) -> float | None:
    """Perplexity of one text from its log probabilities in nats; NaN positions do not count, none left: None."""
    scored = _scored(logprobs)
    return math.exp(-scored.mean()) if len(scored) else None


def corpus_perplexity(texts: Sequence[ArrayLike], how: Literal["token", "text"] = "token") -> float | None:
    """Perplexity of a corpus: `token` pools all tokens, `text` is exp of the unweighted mean of text means."""
    if how == "token":
        return perplexity(np.concatenate([np.asarray(text, np.float64) for text in texts]) if texts else [])
    means = [scored.mean() for scored in map(_scored, texts) if len(scored)]
    return math.exp(-float(np.mean(means))) if means else None


def _scored(logprobs: ArrayLike) -> np.ndarray:
    values = np.asarray(logprobs, dtype=np.float64)
    return values[~np.isnan(values)]
