"""What score rules are made of: outputs under a reference, and the largest mean surprise of their windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.windows import FixedWindows, IntervalWindows


def likelihood(records: Sequence[Record], scored: Sequence[Scored]) -> Corpus:
    """The outputs' tokens with -ln p as surprise, behind the first prompt where there are two."""
    return Corpus.from_scored([replace(each, violating=None) for each in scored], records)


def fixed(corpus: Corpus, n: int) -> np.ndarray:
    """The largest mean surprise of n adjacent tokens of each output; see `_largest`."""
    return _largest(corpus, FixedWindows(corpus.bounds, n))


def within(corpus: Corpus, intervals: Callable[[Record], list[tuple[int, int]]]) -> np.ndarray:
    """The largest mean surprise of the tokens in such intervals of each output; see `_largest`."""
    return _largest(corpus, IntervalWindows.over(corpus, corpus.records or (), intervals))


def _largest(corpus: Corpus, windows: FixedWindows | IntervalWindows) -> np.ndarray:
    """Float64; minus infinity where an output has no window, or none whose tokens all have a score (OP-10, OP-20)."""
    means = windows.scores(corpus)
    own = (means[first:stop] for first, stop in pairwise(windows.bounds.tolist()))
    return np.array([each[~np.isnan(each)].max(initial=-np.inf) for each in own], np.float64)
