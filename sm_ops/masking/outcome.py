"""What a rule does to records and their downstream tokens: masks, reasons, and what unmasked targets guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.masking import bound
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.explain import Reason, reasons
from sm_ops.masking.procedure import apply, mask_downstream
from sm_ops.masking.rules import settings_at


@dataclass(frozen=True, slots=True)
class Outcome:
    """Downstream masks (one boolean array a record), why each span is masked, and `bound.told` of the labelled ones."""

    masks: list[np.ndarray]
    reasons: list[list[Reason]]
    bound: dict[str, Any]


def mask_records(
    records: Sequence[Record], scored: Sequence[Scored], tokens: Sequence[Tokens], rule: dict[str, Any], level: Any
) -> Outcome:
    """The complete procedure; `scored` and the downstream `tokens` are those of `records`, in order.

    `rule` is a rule's configuration as plain JSON, `level` its threshold: one number, or an array with one per record.
    """
    corpus = Corpus.from_scored(scored, records)
    at: Any = Settings({**rule, **settings_at(rule["select"], level)})
    applied = apply(corpus, at)
    reference = corpus.split(applied.mask)
    masks = [
        mask_downstream(each.tokens, own, downstream)
        for each, own, downstream in zip(scored, reference, tokens, strict=True)
    ]
    return Outcome(masks, list(reasons(applied, corpus)), bound.told(at, level, records, scored, reference))
