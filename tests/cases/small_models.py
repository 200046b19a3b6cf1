"""Language models whose probabilities are known: rational tables, and the tagger of single characters beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sm_ops.attacks.exact import MarkovModel
from sm_ops.detectors.detector import Detection
from sm_ops.scoring.language_model import LanguageModel


class MarkovLanguageModel(LanguageModel):
    """A model of finite order over strings; id 0 begins a text. Texts are cut into the longest tokens."""

    def __init__(self, exact: MarkovModel, context: int = 64, end: str | None = None) -> None:
        self.exact, self.context, self.prefix = exact, context, (0,)
        self.tokens = sorted({*exact.start, *(token for row in exact.table.values() for token in row)})
        self.end = None if end is None else 1 + self.tokens.index(end)

    def encode(self, text):
        found = list(re.finditer("|".join(sorted(map(re.escape, self.tokens), key=len, reverse=True)), text))
        return [1 + self.tokens.index(each[0]) for each in found], [each.span() for each in found]

    def decode(self, ids):
        return "".join(self.tokens[i - 1] for i in ids if i and i != self.end)

    def next_logprobs(self, contexts: Sequence[Sequence[int]]) -> np.ndarray:
        rows = np.full((len(contexts), 1 + len(self.tokens)), -np.inf)
        for number, context in enumerate(contexts):
            assert 0 < len(context) < self.context
            known = tuple(self.tokens[i - 1] for i in context if i)
            for token, chance in self.exact.row(known).items():
                if chance:
                    rows[number, 1 + self.tokens.index(token)] = np.log(float(chance))
        return rows


class PatternTagger:
    """What matches a pattern, with one label for each pattern."""

    def __init__(self, **patterns: str) -> None:
        self.patterns = patterns

    def detect(self, texts):
        return [
            sorted(
                Detection(*match.span(), label, 1.0)
                for label, pattern in self.patterns.items()
                for match in re.finditer(pattern, text)
            )
            for text in texts
        ]


def rows(**table: str) -> dict[tuple[str, ...], dict[str, Fraction]]:
    """Rows from a short form: `ax="x 1/2 y 1/2"` is what follows the context a, x."""
    read = {}
    for context, row in table.items():
        words = row.split()
        read[tuple(context)] = {token: Fraction(chance) for token, chance in zip(words[::2], words[1::2], strict=True)}
    return read
