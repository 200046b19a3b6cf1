"""A detector in a rule's place: findings as critical values of downstream tokens, and their threshold (C.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from sm_ops.calibration.sample import Sample, pooled
from sm_ops.calibration.thresholds import Threshold, at_max_f1, at_recall, at_threshold
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.corpus import group_numbers
from sm_ops.masking.projection import largest_overlap


class Found(Protocol):
    """What a detector finds in one record: half-open character intervals with scores (arrays of equal length)."""

    @property
    def starts(self) -> np.ndarray:
        """First characters."""
        ...

    @property
    def ends(self) -> np.ndarray:
        """Characters behind the last."""
        ...

    @property
    def levels(self) -> np.ndarray:
        """Scores, larger = more suspicious."""
        ...


def critical_values(found: Iterable[Found], tokens: Sequence[Tokens]) -> list[np.ndarray]:
    """The largest score that shares a character with each downstream token (float64, an array per record).

    Minus infinity where nothing does, and for ineligible tokens. Nothing propagates: a mask is what was found.
    """
    return [
        np.where(own.eligible, largest_overlap(own.starts, own.ends, each.starts, each.ends, each.levels), -np.inf)
        for each, own in zip(found, tokens, strict=True)
    ]


def sample(records: Sequence[Record], critical: Sequence[np.ndarray], tokens: Sequence[Tokens]) -> Sample:
    """Labelled records under a detector, pooled like those under a rule."""
    return pooled(records, critical, tokens, group_numbers([record.group for record in records]))


def threshold(validation: Sample, own: float | None, target: float | None) -> Threshold:
    """The score from which on findings are masked: the detector's `own`, else of that recall, else of the largest F1.

    `tau` is `None` where a target recall is out of reach (OP-22), and where no mask beats none (OP-23).
    """
    critical, gold = validation.critical, validation.gold
    if own is not None:
        return at_threshold(critical, gold, own)
    return at_max_f1(critical, gold) if target is None else at_recall(critical, gold, target)


def mask(critical: np.ndarray, tau: float | None) -> np.ndarray:
    """Which tokens reach the threshold (bool); without one none does."""
    return critical >= (np.inf if tau is None else tau)
