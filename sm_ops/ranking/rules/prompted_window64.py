"""Mean negative log likelihood of 64-token windows behind a prompt (paper D.4: medical and financial advice).

The paper does not say how the windows of an answer become its score. Here it is the largest of them (choice W-1): the
largest threshold at which a window of the answer is selected, as everywhere else a unit's score is its critical value
(OP-20). An answer of fewer than 64 tokens is one window (choice W-2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.masking.intervals import response
from sm_ops.ranking.features import fixed, likelihood, within

NEEDS = "prompt"
WIDTH = 64


def features(records: Sequence[Record], scored: Sequence[Scored]) -> dict[str, np.ndarray]:
    """The largest window of each output."""
    prompted = likelihood(records, scored)
    short = np.array([each.tokens.eligible.sum() < WIDTH for each in scored], bool)
    return {"prompted_window64": np.where(short, within(prompted, response.intervals), fixed(prompted, WIDTH))}
