"""Critical values: one number per token holds the complete procedure's threshold curve (section 8)."""

from __future__ import annotations

import numpy as np

from sm_ops.core.tokens import Tokens
from sm_ops.masking import rules
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.duplicates import spread
from sm_ops.masking.projection import largest_overlap
from sm_ops.masking.windows import windows_of


def critical_values(corpus: Corpus, rule: rules.Rule) -> np.ndarray:
    """The largest threshold at which each reference token is masked; minus infinity = never.

    A token is masked at threshold tau exactly when its critical value is at least tau, propagation included.
    Before propagation that is the k-th largest level of the windows that hold the token. One sweep, whatever
    the number of thresholds; the rule's own threshold is not read.
    """
    rules.check(rule)
    windows = windows_of(corpus, rule.windows, rule.n)
    levels = rules.levels(windows.scores(corpus, rule.agg), windows.bounds, rule)
    votes = windows.kth_largest(np.where(np.isnan(levels), -np.inf, levels), rule.k)
    return spread(votes, corpus, rule.propagate, rules.sequence_length(rule))


def project_critical(reference: Tokens, critical: np.ndarray, downstream: Tokens) -> np.ndarray:
    """One record's critical values for another tokenizer: the largest of those that share a character.

    Ineligible downstream tokens, and those that meet no reference token, get minus infinity.
    """
    largest = largest_overlap(downstream.starts, downstream.ends, reference.starts, reference.ends, critical)
    return np.where(downstream.eligible, largest, -np.inf)
