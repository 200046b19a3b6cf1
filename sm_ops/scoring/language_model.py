"""What an attack asks of a model: next-token log probabilities, which a black-box service can answer too.

All other questions have an answer that is made of this one. A member overrides them where it is faster, with equal
numbers (spec sections 12 to 15).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np


class LanguageModel(ABC):
    """A causal language model and its tokenizer.

    `context` counts positions, `prefix` holds the ids that stand before every text (BOS, or nothing), `end` is the id
    that ends a text, or None.
    """

    context: int
    prefix: tuple[int, ...]
    end: int | None

    @abstractmethod
    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of a plain text and their code-point intervals; nothing is inserted."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, control tokens left out."""

    @abstractmethod
    def next_logprobs(self, contexts: Sequence[Sequence[int]]) -> np.ndarray:
        """ln p of every id after each context: (n, vocabulary) in nats. A context is never empty."""

    def continuation_logprobs(
        self, prefix: Sequence[int], continuations: Sequence[Sequence[int]]
    ) -> list[np.ndarray]:
        """ln p of each id of each continuation behind the prefix, in their order (nats)."""
        steps = [[*prefix, *own[:i]] for own in continuations for i in range(len(own))]
        if not steps:
            return [np.empty(0) for _ in continuations]
        rows = self.next_logprobs(steps)
        chosen = rows[np.arange(len(rows)), [i for own in continuations for i in own]]
        return np.split(chosen, np.cumsum([len(own) for own in continuations])[:-1])

    def sample(
        self, prefix: Sequence[int], chances: np.ndarray, *, top_k: int = 0, temperature: float = 1.0
    ) -> list[list[int]]:
        """Continuations by inverse transform, one row of `chances` (n, length), uniform in [0, 1), each.

        Ids come in their own order; with `top_k`, what ties with the k-th largest is kept (OP-56; 0 = all). An end
        token ends a continuation and is no part of it.
        """
        raise NotImplementedError

    def greedy(self, prefix: Sequence[int], length: int) -> list[int]:
        """The likeliest id at each step, the smallest of tied ones; an end token ends it."""
        raise NotImplementedError

