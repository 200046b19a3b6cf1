"""From labelled spans to a tag for each token (BIOES, see `bioes`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.core.records import Record

IGNORED = -100
"""The tag of a token that is neither target nor background, as losses know it."""


def labels_of(categories: Sequence[str]) -> list[str]:
    """O, and B-, I-, E- and S- of each category."""
    return ["O", *(f"{tag}-{category}" for category in categories for tag in "BIES")]


def tags(
    record: Record, left_out: Sequence[tuple[int, int]], offsets: Sequence[tuple[int, int]], labels: Sequence[str]
) -> np.ndarray:
    """The number of each token's label: int64. A token belongs to a span that it overlaps (OP-03).

    Of overlapping spans the longest keeps its tokens. A token that overlaps what is left out alone is `IGNORED`.
    """
    places = np.array(offsets, np.int64).reshape(-1, 2)
    found, taken = np.zeros(len(places), np.int64), np.zeros(len(places), bool)
    numbers = {label: number for number, label in enumerate(labels)}
    for start, end in left_out:
        found[_overlapping(places, start, end)] = IGNORED
    for start, end, category in sorted(record.content_spans, key=lambda span: (span[0] - span[1], span)):
        own = _overlapping(places, start, end)
        if not len(own) or taken[own].any():
            continue
        taken[own] = True
        found[own] = numbers[f"I-{category}"]
        found[own[[0, -1]]] = [numbers[f"B-{category}"], numbers[f"E-{category}"]]
        if len(own) == 1:
            found[own] = numbers[f"S-{category}"]
    return found


def _overlapping(places: np.ndarray, start: int, end: int) -> np.ndarray:
    return np.flatnonzero((places[:, 0] < end) & (places[:, 1] > start))
