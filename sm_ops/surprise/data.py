"""Records beside their scores and their downstream tokens, and what a rule does to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.calibration.sample import Sample, sample
from sm_ops.core.errors import InputError
from sm_ops.core.fetched import place
from sm_ops.core.home import home_folder
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.masking.outcome import Outcome, mask_records
from sm_ops.masking.targets import target_tokens
from sm_ops.scoring.tokenize import load_tokenizer, tokenize_all, tokenizer_hash
from sm_ops.surprise.records import Records, read
from sm_ops.surprise.scores import Scores


@dataclass(frozen=True)
class Data:
    """Records, their scores and their downstream tokens, in one order."""

    records: list[Record]
    scored: list[Scored]
    tokens: list[Tokens]
    tokenizer_hash: str
    others: list[np.ndarray] = field(default_factory=list)
    """What another filter masks of each record's tokens, if there is one."""

    @classmethod
    def of(cls, records: Records, scores: Scores, tokenizer: str | Path | None) -> Data:
        """Bring together; without a `tokenizer` the reference's own tokens are those to be masked."""
        if not isinstance(scores, Scores):
            raise InputError("no-scores", "Scores are what score() returns; read a score file by Scores.load(path).")
        found = read(records)
        scored = scores.of(found)
        if tokenizer is None:
            return cls(found, scored, [each.tokens for each in scored], scores.source.tokenizer_hash)
        loaded = load_tokenizer(place(str(tokenizer), home_folder()))
        return cls(found, scored, tokenize_all(found, loaded), tokenizer_hash(loaded))

    def part(self, numbers: Sequence[int]) -> Data:
        """The records of these numbers."""
        return Data(
            [self.records[number] for number in numbers],
            [self.scored[number] for number in numbers],
            [self.tokens[number] for number in numbers],
            self.tokenizer_hash,
            [self.others[number] for number in numbers] if self.others else [],
        )

    def beside(self, other: Records) -> Data:
        """The same data with the masks of another filter, given as spans of records with the same ids."""
        found = {record.id: record for record in read(other)}
        missing = [number for number, record in enumerate(self.records) if record.id not in found]
        if missing:
            raise InputError("other-missing", f"Record {missing[0]} is not among the other filter's; give all of them.")
        changed = [n for n, record in enumerate(self.records) if found[record.id].content != record.content]
        if changed:
            raise InputError(
                "other-text",
                f"Record {changed[0]} has another text among the other filter's ({len(changed)} in all differ), so its "
                "spans would fall on other characters; give the same records.",
            )
        masks = [target_tokens(found[record.id], own) for record, own in zip(self.records, self.tokens, strict=True)]
        return replace(self, others=masks)

    @property
    def unscored(self) -> int:
        """How many eligible tokens of the reference have no finite score."""
        return sum(int((each.tokens.eligible & ~np.isfinite(each.surprise)).sum()) for each in self.scored)

    @property
    def other_tokens(self) -> np.ndarray:
        """The other filter's mask over the eligible tokens, pooled as in a sample; all false without one."""
        masks = self.others or [np.zeros(len(own), bool) for own in self.tokens]
        kept = [mask[own.eligible] for mask, own in zip(masks, self.tokens, strict=True)]
        return np.concatenate([np.empty(0, bool), *kept])

    def residual(self, rule: dict[str, Any]) -> Sample:
        """The tokens that the other filter leaves."""
        return self.sample(rule).where(~self.other_tokens)

    def sample(self, rule: dict[str, Any]) -> Sample:
        """Every eligible token with its critical value under the rule."""
        settings: Any = Settings(rule)
        return sample(self.records, self.scored, self.tokens, settings)

    def masked(self, rule: dict[str, Any], level: Any) -> Outcome:
        """What the complete procedure does at a level: one number, or one per record."""
        return mask_records(self.records, self.scored, self.tokens, rule, level)
