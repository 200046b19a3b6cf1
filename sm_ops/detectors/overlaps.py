"""Overlapping detections of one label say the same thing twice: the longest says it best."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable

from sm_ops.detectors.detector import Detection, in_order


def longest(detections: Iterable[Detection]) -> list[Detection]:
    """Of overlapping detections of one label the longest, then the surer, then the first; other labels stay."""
    kept: list[Detection] = []
    taken: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in sorted(detections, key=lambda d: (d.start - d.end, -d.score, d)):
        places = taken[each.label]
        behind = bisect_left(places, (each.end, 0))  # the first that begins where this one ends, or later
        if not behind or places[behind - 1][1] <= each.start:
            insort(places, (each.start, each.end))
            kept.append(each)
    return in_order(kept)
