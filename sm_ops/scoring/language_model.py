"""What an attack asks of a model: next-token log probabilities, which a black-box service can answer too.

All other questions have an answer that is made of this one. A member overrides them where it is faster, with equal
numbers (spec sections 12 to 15).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

ASKED = 64
"""Contexts that are asked for at once where scores are made of next-token log probabilities."""

Choose = Callable[[np.ndarray, list[int], int], np.ndarray]
"""Ids for the rows (n, V) of log probabilities, given the numbers of the rows' continuations and the step."""


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

    def continuation_logprobs(self, prefix: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """ln p of each id of each continuation behind the prefix (never empty), in their order (nats)."""
        places: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        for number, own in enumerate(continuations):
            for step in range(len(own)):
                places.setdefault(tuple(own[:step]), []).append((number, step))
        found = [np.empty(len(own)) for own in continuations]
        steps = list(places)
        for top in range(0, len(steps), ASKED):
            block = steps[top : top + ASKED]
            for known, row in zip(block, self.next_logprobs([[*prefix, *each] for each in block]), strict=True):
                for number, step in places[known]:
                    found[number][step] = row[continuations[number][step]]
        return found

    def sample(
        self, prefix: Sequence[int], chances: np.ndarray, *, top_k: int = 0, temperature: float = 1.0
    ) -> list[list[int]]:
        """Continuations by inverse transform, one row of `chances` (n, length), uniform in [0, 1), each.

        Ids come in their own order; with `top_k`, what ties with the k-th largest is kept (OP-56; 0 = all). An end
        token ends a continuation and is no part of it. One call is one batch: a row depends on its own chances
        alone, up to the last bits of the model's arithmetic.
        """
        return self._continue(
            prefix, len(chances), chances.shape[1],
            lambda rows, going, step: draw(rows, chances[going, step], top_k, temperature),
        )  # fmt: skip

    def greedy(self, prefix: Sequence[int], length: int) -> list[int]:
        """The likeliest id at each step, the smallest of tied ones; an end token ends it."""
        return self._continue(prefix, 1, length, lambda rows, going, step: rows.argmax(axis=1))[0]

    def _continue(self, prefix: Sequence[int], count: int, length: int, choose: Choose) -> list[list[int]]:
        """`count` rows, each prolonged by what `choose` takes; equal contexts are asked once."""
        continuations: list[list[int]] = [[] for _ in range(count)]
        going = list(range(count))
        for step in range(length):
            contexts = [(*prefix, *continuations[i]) for i in going]
            distinct = {context: number for number, context in enumerate(dict.fromkeys(contexts))}
            if not distinct:
                break
            rows = self.next_logprobs(list(distinct))[[distinct[context] for context in contexts]]
            for i, token in zip(going, choose(rows, going, step).tolist(), strict=True):
                continuations[i].append(token)
            going = [i for i in going if continuations[i][-1] != self.end]
        return [own[:-1] if own and own[-1] == self.end else own for own in continuations]


def draw(logprobs: np.ndarray, chances: np.ndarray, top_k: int = 0, temperature: float = 1.0) -> np.ndarray:
    """One id a row of `logprobs` (n, V) by inverse transform of `chances` (n,) over the ids in their own order.

    With `top_k` only the largest and what ties with the k-th have a chance (OP-56); `temperature` is above 0.
    """
    levels, size = np.asarray(logprobs, np.float64), logprobs.shape[1]
    if 0 < top_k < size:
        last = np.partition(levels, size - top_k, axis=1)[:, size - top_k, None]
        levels = np.where(levels >= last, levels, -np.inf)
    mass = np.exp((levels - levels.max(axis=1, keepdims=True)) / temperature).cumsum(axis=1)
    return (mass <= chances[:, None] * mass[:, -1:]).sum(axis=1)


def common_prefix(rows: Sequence[Sequence[int]]) -> list[int]:
    """What all rows of ids begin with; of no row nothing."""
    if not rows:
        return []
    first, last = min(map(list, rows)), max(map(list, rows))
    unequal = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(unequal, len(first))]
