"""A model of characters whose probabilities are counted: no forward pass, and every number can be worked by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from sm_ops.scoring.language_model import LanguageModel


class CountingModel(LanguageModel):
    """p(c | the last `order` characters) = (count + 1) / (total + V) over the texts that it was trained on."""

    def __init__(
        self, characters: str, texts: Iterable[str] = (), order: int = 3, context: int = 1000, bos: bool = True
    ) -> None:
        self.characters = sorted(set(characters))
        self.context = context
        self.end = None
        self.prefix = (len(self.characters),) if bos else ()
        self.order = order
        self.asked: list[int] = []
        self._counts: Counter[tuple[tuple[int, ...], int]] = Counter()
        self._totals: Counter[tuple[int, ...]] = Counter()
        for text in texts:
            ids = [*self.prefix, *self.encode(text)[0]]
            for place in range(1, len(ids)):
                before = tuple(ids[max(0, place - order) : place])
                self._counts[before, ids[place]] += 1
                self._totals[before] += 1

    @property
    def size(self) -> int:
        """How many ids there are."""
        return len(self.characters) + len(self.prefix)

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        return [self.characters.index(each) for each in text], [(i, i + 1) for i in range(len(text))]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.characters[each] for each in ids if each < len(self.characters))

    def next_logprobs(self, contexts: Sequence[Sequence[int]]) -> np.ndarray:
        self.asked += map(len, contexts)
        return np.array(
            [[self._logprob(tuple(each[-self.order :]), own) for own in range(self.size)] for each in contexts]
        )

    def _logprob(self, before: tuple[int, ...], own: int) -> float:
        return float(np.log((self._counts[before, own] + 1) / (self._totals[before] + self.size)))
