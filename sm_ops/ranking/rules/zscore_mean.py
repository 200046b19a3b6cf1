"""The mean of a prompt-change feature and a line feature, each standardised on validation (paper D.4: insecure code).

The paper names the two features and not their formulas. Prompt change is the mean over the output's tokens of ln p
behind the violating prompt minus ln p behind the compliant one (choice W-3). The line feature is the largest mean
negative log likelihood of the output's lines behind the compliant prompt (choice W-4).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.intervals import line, response
from sm_ops.ranking.features import likelihood, within

NEEDS = "contrast"


def features(records: Sequence[Record], scored: Sequence[Scored]) -> dict[str, np.ndarray]:
    """Both features, before they are standardised."""
    return {
        "prompt_change": within(Corpus.from_scored(scored, records), response.intervals),
        "line_nll": within(likelihood(records, scored), line.intervals),
    }
