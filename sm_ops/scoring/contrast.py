"""Prompted contrast of two separate passes: tokens are matched by their place in the document (OP-08)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from sm_ops.core.tokens import Scored, Tokens

_Place = tuple[int, int, int]


def align(violating: Scored, compliant: Scored) -> Scored:
    """One record's scores under both prompts: the tokens of `violating`, each with its partner's log probability.

    Partners have equal (start, end) and the equal running number among the tokens of that interval; special
    tokens have none. A token without partner has NaN under the compliant prompt, so its contrast is missing.
    """
    values = dict(zip(_places(compliant.tokens), compliant.logprobs[~compliant.tokens.special].tolist(), strict=True))
    logprobs = np.full(len(violating.tokens), np.nan)
    logprobs[~violating.tokens.special] = [values.get(place, np.nan) for place in _places(violating.tokens)]
    return replace(violating, logprobs=logprobs, violating=violating.logprobs)


def _places(tokens: Tokens) -> list[_Place]:
    """(start, end, running number) of every token that is not special."""
    seen: Counter[tuple[int, int]] = Counter()
    places = []
    kept = ~tokens.special
    for pair in zip(tokens.starts[kept].tolist(), tokens.ends[kept].tolist(), strict=True):
        places.append((*pair, seen[pair]))
        seen[pair] += 1
    return places
