"""A mask becomes training labels; masked tokens stay in the context."""

from __future__ import annotations

import numpy as np

IGNORED = -100


def labels(ids: np.ndarray, supervised: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The ids with -100 wherever nothing is to be learned: unsupervised or masked (OP-29).

    Unshifted, of the length of `ids`: the model shifts. int64.
    """
    return np.where(supervised & ~mask, ids, IGNORED).astype(np.int64)
