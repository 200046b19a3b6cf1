"""When a separation is to be spoken of: where validation and application differ, and where a high AUROC misleads."""

from __future__ import annotations

GAP = 0.03
"""AUROCs of validation and application that differ by more are flagged (paper, section 5)."""
HIGH_AUROC, POOR_F1 = 0.8, 0.5
"""A ranking from here on, with an F1 under this, is told as one that no single threshold serves (choice Y-3)."""


def differs(gap: float | None) -> bool:
    """Whether a difference of AUROCs is to be flagged; one that cannot be told is not."""
    return gap is not None and abs(gap) > GAP


def ranks_high(area: float | None) -> bool:
    """Whether an AUROC is so high that the F1 is to be told beside it."""
    return area is not None and area >= HIGH_AUROC


def cuts_poorly(f1: float | None) -> bool:
    """Whether an F1 is so low that a mask at its threshold takes more along, or misses more, than it is worth."""
    return f1 is not None and f1 < POOR_F1
