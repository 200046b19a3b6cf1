"""DePA as a filter: a line's level is how far its perplexity stands out of its snippet's (`sm_ops/sanitizing/depa.py`).

A snippet of n lines is scored n times, so the cost grows with the square of its length. The setting `tuned` lets
validation choose the threshold; without it the published 1.5 standard deviations decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, tee
from typing import Any

import numpy as np

from sm_ops.core.records import Record
from sm_ops.sanitizing.depa import T, compared, deviations, variants
from sm_ops.sanitizing.levels import Row
from sm_ops.sanitizing.parts import parts
from sm_ops.scoring.perplexity import perplexity

AT = T
"""The threshold that this filter brings itself."""


def rows(records: Iterable[Record], reference: Any, settings: Any) -> Iterator[Row]:
    """The compared lines of each record with their deviations."""
    own, read_ahead = tee(records)
    found = _perplexities((variant for record in read_ahead for variant in variants(record)), reference)
    for record in own:
        edges = np.array(compared(record), np.int64).reshape(-1, 2)
        levels = deviations(np.array(list(islice(found, len(edges))), np.float64))
        yield Row(record.id, edges[:, 0], edges[:, 1], levels)


def _perplexities(texts: Iterator[Record], reference: Any) -> Iterator[float]:
    for part in parts(texts):
        for scored in reference.score(part):
            own = perplexity(scored.logprobs)
            yield np.nan if own is None else own
