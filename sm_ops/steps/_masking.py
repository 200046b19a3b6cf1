"""What calibrating and masking share: records beside their scores, and the downstream tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.data.records import read_records
from sm_ops.masking.targets import target_tokens
from sm_ops.scoring.scores import read_scores
from sm_ops.scoring.tokenize import tokenize_all


@dataclass(frozen=True)
class Labelled:
    """Records with their downstream tokens; `targets` marks the target tokens of each (bool arrays)."""

    records: list[Record]
    tokens: list[Tokens]
    targets: list[np.ndarray]


def labelled(path: Path, tokenizer: Any) -> Labelled:
    """Read records and tokenize them for the model in training."""
    records = list(read_records(path))
    tokens = tokenize_all(records, tokenizer)
    return Labelled(records, tokens, [target_tokens(r, t) for r, t in zip(records, tokens, strict=True)])


def scores_of(path: Path, records: list[Record]) -> list[Scored]:
    """Scores of exactly these records, in their order."""
    by_id = {scored.id: scored for scored in read_scores(path)[0]}
    missing = [index for index, record in enumerate(records) if record.id not in by_id]
    if missing:
        raise InputError(
            "scores-missing",
            f"{path.name}: {len(missing)} of {len(records)} records have no score, the first at index "
            f"{missing[0]}; score the same records again.",
        )
    return [by_id[record.id] for record in records]
