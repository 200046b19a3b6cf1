"""References of a sanitization: what is fitted or named, scored shard by shard, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core import registry
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored
from sm_ops.sanitizing import crossfit
from sm_ops.scoring.shards import score_in_shards

if TYPE_CHECKING:
    from sm_ops.core.stage import Context

VALIDATION, APPLICATION = "validation", "records"
"""The two sides, as steps name their inputs and outputs."""


@dataclass
class Scoring:
    """A reference that keeps finished shards in `scratch`, a folder for each call, and counts its tokens."""

    reference: Any
    scratch: Path
    workers: int
    engine: str
    tokens: int = 0
    _calls: int = field(default=0, repr=False)

    def score(self, records: Sequence[Record]) -> list[Scored]:
        """The scores of some records, in order."""
        folder, self._calls = self.scratch / str(self._calls), self._calls + 1
        scored = score_in_shards(self.reference, records, folder, None, self.workers, self.engine)
        self.tokens += sum(int(each.tokens.eligible.sum()) for each in scored)
        return scored


def scoring(settings: Settings, context: Context, side: str) -> Scoring:
    """The reference of one side, for a scorer."""
    reference = reference_of(settings, context, side)
    return Scoring(reference, context.scratch / side, settings.workers, settings.engine)


def reference_of(settings: Settings, context: Context, side: str) -> Any:
    """The reference of one side: named, or fitted, for validation to records of other groups than those it scores."""
    fitted = context.inputs.get("fitted")

    def load(model: Path | str) -> Any:
        named = Settings({**settings.plain(), "model": str(model), "examples": []})
        return registry.load("reference", settings.backend).load(named)

    if fitted is None:
        return load(settings.model)
    if side == VALIDATION and crossfit.is_dealt(fitted):
        return crossfit.CrossFitted(fitted, load)
    return load(fitted / crossfit.WHOLE)


def as_text(record: Record) -> Record:
    """A chat as one text, of whose messages all are to be cleaned; places in it stay what they are."""
    if record.messages is None:
        return record
    return replace(record, text=record.content, messages=None, spans=())
