"""Which tokens are targets: content that the labels say must not be learned."""

from __future__ import annotations

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.projection import overlap


def target_tokens(record: Record, tokens: Tokens, label: str | None = None) -> np.ndarray:
    """Eligible tokens that share at least one character with an annotated span (bool; section 6).

    With `label`, spans of that label alone.
    """
    wanted = [(start, end) for start, end, own in record.content_spans if label is None or own == label]
    spans = np.array(wanted, np.int64).reshape(-1, 2)
    return overlap(tokens.starts, tokens.ends, spans[:, 0], spans[:, 1]) & tokens.eligible
