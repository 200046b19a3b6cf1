"""The complete procedure: windows, selection, consensus, propagation, and projection downstream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sm_ops.core.tokens import Tokens
from sm_ops.masking import rules
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.duplicates import propagate_with_sources
from sm_ops.masking.projection import overlap
from sm_ops.masking.windows import FixedWindows, IntervalWindows, windows_of


@dataclass(frozen=True, slots=True)
class Applied:
    """What a rule does to a corpus, and what it takes to say why (`masking/explain.py`).

    `scores` (float64) and `selected` (bool) have one entry per window; `mask` (bool) and `sources` (int64) one per
    flat position. A position that was masked as a copy has in `sources` the first position of the masked sequence
    that it repeats, any other has -1. `length` is the number of tokens of a sequence.
    """

    windows: FixedWindows | IntervalWindows
    scores: np.ndarray
    selected: np.ndarray
    mask: np.ndarray
    sources: np.ndarray
    length: int


def apply(corpus: Corpus, rule: rules.Rule) -> Applied:
    """Score the windows, select, vote and propagate (spec sections 3 to 5)."""
    rules.check(rule)
    windows = windows_of(corpus, rule.windows, rule.n)
    scores = windows.scores(corpus, rule.agg)
    selected = rules.selected(scores, windows.bounds, rule)
    length = rules.sequence_length(rule)
    mask, sources = propagate_with_sources(windows.votes(selected) >= rule.k, corpus, rule.propagate, length)
    return Applied(windows, scores, selected, mask, sources, length)


def mask_reference(corpus: Corpus, rule: rules.Rule) -> np.ndarray:
    """The reference tokens that the rule masks (bool over the flat positions)."""
    return apply(corpus, rule).mask


def mask_downstream(reference: Tokens, mask: np.ndarray, downstream: Tokens) -> np.ndarray:
    """One record's mask for another tokenizer: its eligible tokens that share a character with a masked one.

    Reference tokens -> characters -> downstream tokens (section 6, OP-17).
    """
    touched = overlap(downstream.starts, downstream.ends, reference.starts[mask], reference.ends[mask])
    return touched & downstream.eligible
