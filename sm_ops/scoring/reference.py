"""What every reference model offers, whichever backend it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.core.types import Progress
from sm_ops.scoring.plan import Batch, Plan
from sm_ops.scoring.scores import Source


class Reference(Protocol):
    """A reference model: it turns records into tokens with log probabilities (paper section 2).

    `source` says where its scores come from; `tokenizer` and `context` (positions) are None where there is none.
    """

    source: Source
    tokenizer: Any
    context: int | None

    def score(self, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
        """Scores in the order of `records`, in nats on the grid of OP-04; NaN where there is none."""
        ...


@runtime_checkable
class Batched(Protocol):
    """A reference slow enough to be worth shards, workers and resuming: its `score` is a plan, run batch by batch.

    It is pickled to the workers, so it must not hold what they can load themselves.
    """

    source: Source
    arithmetic: dict[str, str | int]
    """What decides the last bits of a sum beside the weights: `device` and `threads`."""

    def plan(self, records: Sequence[Record]) -> Plan:
        """The batches that the records need; no model is loaded for it."""
        ...

    def run(self, batch: Batch) -> np.ndarray:
        """The batch's log probabilities (float32, row after row); NaN for a first token that nothing precedes."""
        ...

    def settle(self, worker: int | None) -> None:
        """In a worker process, before its first batch: see `sm_ops.scaleout.shards.Work.settle`."""
        ...


def run_plan(reference: Batched, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
    """Plan and run in this process, keeping nothing on disk."""
    plan = reference.plan(records)
    return plan.collect(((number, reference.run(batch)) for number, batch in enumerate(plan.batches)), progress)
