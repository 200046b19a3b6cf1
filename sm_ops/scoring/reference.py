"""What every reference model offers, whichever backend it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored

Progress = Callable[[int, int], None]
"""Called with (records done, records in all)."""


class Reference(Protocol):
    """A reference model: it turns records into tokens with log probabilities (paper section 2)."""

    name: str
    revision: str
    tokenizer_hash: str
    tokenizer: Any
    context: int | None

    def score(self, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
        """Scores in the order of `records`, in nats on the grid of OP-04; NaN where there is none."""
        ...
