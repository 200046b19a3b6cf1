"""Labelled records under a rule: one critical value, one truth and one independent unit per token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sm_ops.calibration.critical import critical_values, project_critical
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.masking import rules
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.targets import target_tokens


@dataclass(frozen=True, slots=True)
class Sample:
    """The eligible downstream tokens of labelled records, pooled (one entry each).

    `critical` float64 (minus infinity = never masked), `gold` bool (a target token), `unit` int64 (the token's group,
    or its record where that has none: what repeats within it says nothing new), `record` int64; `labels` says for
    each label which tokens carry it (bool).
    """

    critical: np.ndarray
    gold: np.ndarray
    unit: np.ndarray
    record: np.ndarray
    labels: dict[str, np.ndarray]

    @property
    def units(self) -> int:
        """Kish's effective number of independent units with targets: (sum of m)^2 / sum of m^2, rounded down.

        m is the number of target tokens of a unit; equal units count fully.
        """
        sizes = np.bincount(self.unit[self.gold]).astype(np.float64)
        return int(sizes.sum() ** 2 / float(sizes @ sizes) + 1e-9) if sizes.any() else 0

    def where(self, kept: np.ndarray) -> Sample:
        """The sample without some of its tokens (`kept` is bool)."""
        labels = {name: own[kept] for name, own in self.labels.items()}
        return Sample(self.critical[kept], self.gold[kept], self.unit[kept], self.record[kept], labels)


def sample(records: Sequence[Record], scored: Sequence[Scored], tokens: Sequence[Tokens], rule: rules.Rule) -> Sample:
    """Everything a threshold decides; `scored` and the downstream `tokens` are those of `records`, in order."""
    corpus = Corpus.from_scored(scored, records)
    critical = [
        project_critical(each.tokens, values, own)
        for each, values, own in zip(scored, corpus.split(critical_values(corpus, rule)), tokens, strict=True)
    ]
    return pooled(records, critical, tokens, corpus.groups)


def pooled(
    records: Sequence[Record], critical: Sequence[np.ndarray], tokens: Sequence[Tokens], groups: np.ndarray
) -> Sample:
    """A sample from the critical values of each record's downstream tokens; `groups` has a number per record."""
    eligible = [own.eligible for own in tokens]
    names = sorted({label for record in records for _, _, label in record.content_spans})

    def kept(arrays: Sequence[np.ndarray]) -> np.ndarray:
        parts = [array[keep] for array, keep in zip(arrays, eligible, strict=True)]
        return np.concatenate([np.empty(0, arrays[0].dtype if arrays else np.float64), *parts])

    def repeated(values: np.ndarray) -> np.ndarray:
        return np.repeat(values, [int(keep.sum()) for keep in eligible])

    def targets(label: str | None = None) -> np.ndarray:
        return kept([target_tokens(record, own, label) for record, own in zip(records, tokens, strict=True)])

    return Sample(
        critical=kept(critical),
        gold=targets().astype(bool),
        unit=repeated(groups),
        record=repeated(np.arange(len(records))),
        labels={name: targets(name) for name in names},
    )
