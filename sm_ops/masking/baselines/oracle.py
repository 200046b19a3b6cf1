"""The oracle: masks exactly the annotated content, as no method without labels can."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.targets import target_tokens


def mask(records: Sequence[Record], tokens: Sequence[Tokens]) -> list[np.ndarray]:
    """Every target token of every record (section 6)."""
    return [target_tokens(record, own) for record, own in zip(records, tokens, strict=True)]
