"""Tokens of one record under one tokenizer, and their scores under one reference, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Tokens:
    """Arrays of equal length n: `ids`, `starts`, `ends` (int64), `special`, `supervised` (bool).

    Offsets are code points of the record's canonical text (OP-01). What a tokenizer or a template inserted is
    `special` and has `start == end` (OP-02: the flag decides, never the zero length).
    """

    ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    special: np.ndarray
    supervised: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def eligible(self) -> np.ndarray:
        """Positions that may be scored, windowed and masked (OP-03)."""
        return self.supervised & ~self.special


@dataclass(frozen=True, slots=True)
class Scored:
    """A record's reference tokens with log probabilities in nats on the grid of OP-04 (NaN = missing).

    With `violating`, the log probabilities under a prompt that asks to keep the target content, `logprobs` are
    those under the compliant prompt, and the score is the prompted contrast.
    """

    id: str
    group: str | None
    tokens: Tokens
    logprobs: np.ndarray
    violating: np.ndarray | None = None

    @property
    def surprise(self) -> np.ndarray:
        """How suspicious each token is (float64; NaN = missing): -ln p, or the prompted contrast (paper D.4)."""
        return -self.logprobs if self.violating is None else self.violating - self.logprobs
