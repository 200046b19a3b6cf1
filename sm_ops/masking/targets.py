"""Which tokens are targets: content that the labels say must not be learned."""

from __future__ import annotations

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.projection import overlap


def target_tokens(record: Record, tokens: Tokens) -> np.ndarray:
    """Eligible tokens that share at least one character with an annotated span (bool; section 6)."""
    spans = np.array([(start, end) for start, end, _ in record.content_spans], np.int64).reshape(-1, 2)
    return overlap(tokens.starts, tokens.ends, spans[:, 0], spans[:, 1]) & tokens.eligible
