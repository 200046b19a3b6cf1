"""Apply a calibrated rule: masks, reasons, a masked training set, redacted records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.calibration import categories
from sm_ops.core import fs
from sm_ops.core.errors import InputError, StageError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.data.records import write_records
from sm_ops.masking import mask_files
from sm_ops.masking.combine import combine
from sm_ops.masking.conditions import BY_CATEGORY
from sm_ops.masking.explain import Reason, combined
from sm_ops.masking.outcome import Outcome
from sm_ops.masking.redact import PLACEHOLDER, redact
from sm_ops.masking.spans import intervals
from sm_ops.masking.targets import target_tokens
from sm_ops.metrics import confusion
from sm_ops.surprise.calibration import Calibration, same_reference
from sm_ops.surprise.data import Data
from sm_ops.surprise.records import Records
from sm_ops.surprise.scores import Scores
from sm_ops.training import masked as training_sets


@dataclass(frozen=True)
class Masked:
    """Records with a boolean per downstream token and the reasons per span."""

    records: list[Record]
    tokens: list[Tokens]
    masks: list[np.ndarray]
    reasons: list[list[Reason]]
    bound: dict[str, Any]
    unscored: int
    point: str
    rule: dict[str, Any]

    def examples(self) -> list[training_sets.Example]:
        """A masked training set: masked tokens stay in the context and are not learned."""
        return list(training_sets.examples(self.records, self.tokens, self.masks))

    @property
    def counts(self) -> tuple[int, int]:
        """How many tokens are masked, and how many are eligible."""
        return sum(int(mask.sum()) for mask in self.masks), sum(int(own.eligible.sum()) for own in self.tokens)

    def intervals(self, number: int) -> list[tuple[int, int]]:
        """The disjoint masked character intervals of a record."""
        own, mask = self.tokens[number], self.masks[number]
        return intervals(own.starts[mask], own.ends[mask])

    def summary(self, placeholder: str | None = None) -> list[str]:
        """What was masked and what a user should know of it, in sentences; `placeholder` is that of a redaction."""
        hidden, eligible = self.counts
        lines = [f"{self.point}: {hidden:,} of {eligible:,} tokens masked"]
        pairs = list(zip(self.records, self.tokens, strict=True))
        gold = np.concatenate([np.empty(0, bool), *(target_tokens(record, own)[own.eligible] for record, own in pairs)])
        if gold.any():
            masked = np.concatenate([mask[own.eligible] for mask, own in zip(self.masks, self.tokens, strict=True)])
            counts = confusion(masked, gold)
            lines[0] += f": {counts.tp:,} of {counts.tp + counts.fn:,} labelled ones"
            lines[0] += f" and {counts.fp:,} of {counts.fp + counts.tn:,} others"
        outside = sum(
            not (own.eligible & (own.starts < end) & (own.ends > start)).any()
            for record, own in pairs
            for start, end, _ in record.content_spans
        )
        nothing = sum(
            not (own.eligible & ~mask).any() for own, mask in zip(self.tokens, self.masks, strict=True)
        )
        held = sum(placeholder in record.content for record in self.records) if placeholder else 0
        told = {
            "tokens have no usable score, so that no window masks them": self.unscored,
            "labelled spans lie outside what is trained (users' messages) and are left as they are": outside,
            "records have nothing left to learn": nothing,
            f"records already held {placeholder!r} before": held,
        }
        return lines + [f"{number:,} {what}" for what, number in told.items() if number]

    def redacted(self, placeholder: str = PLACEHOLDER) -> list[Record]:
        """The records with a placeholder for each masked span."""
        return [redact(record, self.intervals(number), placeholder) for number, record in enumerate(self.records)]

    def write(self, folder: str | Path) -> None:
        """Write `train.parquet` (the masked training set), `masks.parquet` (which spans, and why) and `bound.json`.

        The last says how likely labelled targets that stay unmasked must be under the reference (paper G), or why that
        cannot be said. Each file is whole or absent.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        ids = [record.id for record in self.records]
        rows = mask_files.rows(self.point, ids, self.tokens, self.masks, self.reasons)
        with fs.replacing(folder / "train.parquet") as path:
            training_sets.write(path, self.examples())
        with fs.replacing(folder / "masks.parquet") as path:
            mask_files.write(path, rows, self.rule)
        fs.write_json(folder / "bound.json", self.bound)

    def write_redacted(self, path: str | Path, placeholder: str = PLACEHOLDER) -> None:
        """Write the redacted records as JSONL or Parquet."""
        with fs.replacing(Path(path)) as unfinished:
            write_records(unfinished, self.redacted(placeholder))


def mask(
    records: Records,
    scores: Scores,
    calibration: Calibration,
    *,
    point: str | None = None,
    tokenizer: str | Path | None = None,
    other: Records | None = None,
    combination: str = "union",
) -> Masked:
    """Apply a calibrated rule to records, labelled or not, by the complete procedure.

    With `other`, the same records with the spans that another filter masks, the two masks are combined: `union`,
    `intersection`, or `residual` (what the rule adds to the other filter).

    `point` is an operating point (`calibration.points`); without it the one that calibration chose. Raises
    `StageError` where calibration found the rule unsuitable and no point is named, and `InputError` where scores or
    tokenizer are not those of the calibration.
    """
    if point is None and (calibration.verdict["decision"] != "suitable" or calibration.chosen is None):
        verdict = calibration.verdict
        raise StageError(f"calibration-{verdict['decision']}", f"{verdict['advice']}: {verdict['reason']}")
    name = point or str(calibration.chosen)
    same_reference(calibration.report["reference"], scores)
    data = Data.of(records, scores, tokenizer)
    if data.tokenizer_hash != calibration.report["tokenizer_hash"]:
        raise InputError(
            "other-tokenizer",
            "The tokens to be masked come from another tokenizer than the calibration's; name the same one, or "
            "calibrate again.",
        )
    level = calibration.level(name)
    at, rule = level, {"point": name, "level": level, **calibration.report["rule"]}
    if name == BY_CATEGORY:
        rule["categories"] = own = calibration.report["categories"]
        at = categories.levels(own["thresholds"], data.records, own["key"])
    outcome = data.masked(calibration.report["rule"], at)
    if other is not None:
        rule["other"] = combination
        outcome = _combined(outcome, data.beside(other), combination)
    return Masked(
        data.records, data.tokens, outcome.masks, outcome.reasons, outcome.bound, data.unscored, name, rule
    )


def _combined(outcome: Outcome, data: Data, combination: str) -> Outcome:
    """The masks together with the other filter's, and what is then the reason of each span."""
    both = combine(combination)
    masks = [both(*pair) for pair in zip(outcome.masks, data.others, strict=True)]
    reasons = [
        combined(found, intervals(own.starts[mask], own.ends[mask]), intervals(own.starts[other], own.ends[other]))
        for found, own, mask, other in zip(outcome.reasons, data.tokens, masks, data.others, strict=True)
    ]
    return replace(outcome, masks=masks, reasons=reasons)
