"""The rank of a window's score among its neighbours in the same record (section 4, OP-14)."""

from __future__ import annotations

import numpy as np

_BLOCK = 1 << 14


def local_rank(scores: np.ndarray, bounds: np.ndarray, radius: int) -> np.ndarray:
    """Per window the percentage of its neighbours with at least its surprise; NaN where undefined.

    `scores` (float64, NaN = invalid window): record r has the windows `bounds[r]:bounds[r + 1]`. Neighbours are the
    valid windows of the same record whose number differs by 1 to `radius`; a tie counts as a neighbour with at least
    the surprise, and so raises the rank. Undefined: an invalid window, or one without a neighbour. O(N radius), in
    blocks that fit the cache.
    """
    reach = min(radius, int(np.diff(bounds).max(initial=1)) - 1)
    ranks = np.empty(len(scores))
    for start in range(0, len(scores), _BLOCK):
        stop = min(start + _BLOCK, len(scores))
        first, last = max(start - reach, 0), min(stop + reach, len(scores))
        own = bounds[np.searchsorted(bounds, first, "right") - 1 : np.searchsorted(bounds, last) + 1]
        lengths = np.diff(np.clip(own, first, last))
        ranks[start:stop] = _rank(scores[first:last], lengths[lengths > 0], reach)[start - first : stop - first]
    return ranks


def _rank(scores: np.ndarray, lengths: np.ndarray, reach: int) -> np.ndarray:
    """Ranks in records of the given lengths; gaps of invalid windows, `reach` wide, keep the records apart."""
    places = np.arange(len(scores)) + np.repeat(reach * np.arange(1, len(lengths) + 1), lengths)
    apart = np.full(places[-1] + 1 + reach, np.nan)
    apart[places] = scores
    at_least = np.zeros(len(apart), np.min_scalar_type(2 * reach))
    for distance in range(1, reach + 1):
        one, other = apart[:-distance], apart[distance:]
        at_least[:-distance] += (one <= other).view(np.uint8)  # each shifted comparison serves both members
        at_least[distance:] += (other <= one).view(np.uint8)
    valid = ~np.isnan(apart)
    before = np.concatenate([[0], np.cumsum(valid)])
    neighbours = before[places + reach + 1] - before[places - reach] - 1
    defined = valid[places] & (neighbours > 0)
    return np.divide(100.0 * at_least[places], neighbours, out=np.full(len(scores), np.nan), where=defined)
