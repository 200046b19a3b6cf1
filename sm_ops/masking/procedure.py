"""The complete procedure: windows, selection, consensus, propagation, and projection downstream."""

from __future__ import annotations

import numpy as np

from sm_ops.core.tokens import Tokens
from sm_ops.masking import rules
from sm_ops.masking.consensus import consensus
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.duplicates import propagate
from sm_ops.masking.projection import overlap
from sm_ops.masking.windows import window_scores


def mask_reference(corpus: Corpus, rule: rules.Rule) -> np.ndarray:
    """The reference tokens that the rule masks (bool over the flat positions; spec sections 3 to 5)."""
    rules.check(rule)
    scores = window_scores(corpus, rule.n)
    voted = consensus(rules.selected(scores, corpus, rule), rule.n, rule.k)
    return propagate(voted, corpus, rule.propagate, rule.n)


def mask_downstream(reference: Tokens, mask: np.ndarray, downstream: Tokens) -> np.ndarray:
    """One record's mask for another tokenizer: its eligible tokens that share a character with a masked one.

    Reference tokens -> characters -> downstream tokens (section 6, OP-17).
    """
    touched = overlap(downstream.starts, downstream.ends, reference.starts[mask], reference.ends[mask])
    return touched & downstream.eligible
