"""Critical values: one number per token holds the complete procedure's threshold curve (section 8)."""

from __future__ import annotations

import numpy as np

from sm_ops.core.tokens import Tokens
from sm_ops.masking import rules
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.duplicates import spread
from sm_ops.masking.projection import largest_overlap
from sm_ops.masking.windows import window_scores

_BLOCK = 1 << 15


def critical_values(corpus: Corpus, rule: rules.Rule) -> np.ndarray:
    """The largest threshold at which each reference token is masked; minus infinity = never.

    A token is masked at threshold tau exactly when its critical value is at least tau, propagation included.
    Before propagation that is the k-th largest level of the windows that hold the token. One sweep, whatever
    the number of thresholds; the rule's own threshold is not read.
    """
    rules.check(rule)
    levels = rules.levels(window_scores(corpus, rule.n), corpus, rule)
    votes = _kth_largest(np.where(np.isnan(levels), -np.inf, levels), rule.n, rule.k)
    return spread(votes, corpus, rule.propagate, rule.n)


def project_critical(reference: Tokens, critical: np.ndarray, downstream: Tokens) -> np.ndarray:
    """One record's critical values for another tokenizer: the largest of those that share a character.

    Ineligible downstream tokens, and those that meet no reference token, get minus infinity.
    """
    largest = largest_overlap(downstream.starts, downstream.ends, reference.starts, reference.ends, critical)
    return np.where(downstream.eligible, largest, -np.inf)


def _kth_largest(levels: np.ndarray, n: int, k: int) -> np.ndarray:
    """The k-th largest of the n levels whose windows hold each position, in blocks that fit the cache."""
    if not len(levels):
        return np.empty(0)
    padded = np.concatenate([np.full(n - 1, -np.inf), levels])
    holding = np.lib.stride_tricks.sliding_window_view(padded, len(levels))  # one row per distance to the start
    blocks = [holding[:, start : start + _BLOCK] for start in range(0, len(levels), _BLOCK)]
    return np.concatenate([np.partition(block, n - k, axis=0)[n - k] for block in blocks])
