"""Mean negative log likelihood of the whole output, in nats per token (paper A.7: citations)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.masking.intervals import response
from sm_ops.ranking.features import likelihood, within

NEEDS = "nothing"


def features(records: Sequence[Record], scored: Sequence[Scored]) -> dict[str, np.ndarray]:
    """One window an output, its response (OP-35); undefined where a token has no score."""
    return {"mean_nll": within(likelihood(records, scored), response.intervals)}
