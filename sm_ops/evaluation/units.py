"""Units of measurement beyond tokens: characters and lines (section 7)."""

from __future__ import annotations

import numpy as np

from sm_ops.masking.projection import largest_overlap, overlap
from sm_ops.metrics import Confusion, confusion


def characters(length: int, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which of a text's characters lie in one of the intervals (bool of that length)."""
    places = np.arange(length)
    return overlap(places, places + 1, starts, ends)


def character_scores(length: int, starts: np.ndarray, ends: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Each character's score: the largest of the tokens that cover it, minus infinity without one (OP-20)."""
    places = np.arange(length)
    return largest_overlap(places, places + 1, starts, ends, values)


def line_confusion(lines: np.ndarray, masked: np.ndarray, gold: np.ndarray) -> Confusion:
    """Counts of lines: predicted and gold where a masked, or a target, character is in the content (OP-18).

    All three are (n, 2) arrays of half-open character intervals: the non-blank lines without terminators
    (OP-11), the masked tokens, the annotated spans. Where whole lines are selected, these are `masked`.
    """
    return confusion(overlap(*lines.T, *masked.T), overlap(*lines.T, *gold.T))
