"""Bring your own scores: Parquet or JSONL score files as reference, looked up by record id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.core.types import Progress
from sm_ops.scoring.contrast import align
from sm_ops.scoring.grid import to_grid
from sm_ops.scoring.scores import Source, read_scores
from sm_ops.scoring.tokenize import covering

_ByID = dict[str, Scored]


def load(settings: Any) -> FileReference:
    """The score file `settings.model`; with `settings.violating` that file holds the scores under a violating prompt.

    A file may also hold both, in its column `logprobs_violating`.
    """
    path = Path(settings.model)
    found, source = _read(path)
    if settings.violating is not None:
        found = _contrast(found, path, Path(settings.violating))
    return FileReference(path.name, found, source)


def _read(path: Path) -> tuple[_ByID, Source]:
    if not path.is_file():
        raise InputError("scores-not-found", f"There is no score file '{path}'; check the path.")
    scored, source = read_scores(path)
    return by_id(scored, path.name), source


def by_id(scored: Sequence[Scored], name: str) -> _ByID:
    """Scores by record id; `InputError` where an id is repeated."""
    found = {each.id: each for each in scored}
    if len(found) < len(scored):
        raise InputError(
            "duplicate-scores", f"{name} has {len(scored) - len(found)} repeated ids; keep one row for each id."
        )
    return found


def _contrast(compliant: _ByID, path: Path, violating_path: Path) -> _ByID:
    """Records that are in one file alone are left out; who asks for one is told that it has no scores."""
    violating = _read(violating_path)[0]
    for name, found in ((path.name, compliant), (violating_path.name, violating)):
        if any(each.violating is not None for each in found.values()):
            raise InputError(
                "two-contrasts", f"{name} already has logprobs_violating; leave it out, or leave `violating` empty."
            )
    return {name: align(violating[name], compliant[name]) for name in violating if name in compliant}


class FileReference:
    """Scores that were computed elsewhere, as a `Reference`; it has no tokenizer."""

    tokenizer = None
    context = None

    def __init__(self, file_name: str, by_id: _ByID, source: Source) -> None:
        """Take scores by record id; `InputError` where most are above 0, so that they are no log probabilities."""
        known = [each.logprobs[np.isfinite(each.logprobs)] for each in by_id.values()]
        values = np.concatenate([np.empty(0), *known])
        if len(values) and (values > 0).mean() > 0.5:
            raise InputError(
                "positive-logprobs",
                f"{file_name}: {int((values > 0).sum()):,} of {len(values):,} log probabilities are above 0; give "
                "ln p, which is at most 0, and not its negative or the probability.",
            )
        self.source = replace(source, reference=source.reference or file_name)
        self._file_name, self._by_id = file_name, by_id

    def score(self, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
        """The file's scores in the order of `records`, put on the grid of OP-04."""
        scored = [self._find(index, record) for index, record in enumerate(records)]
        if progress is not None:
            progress(len(records), len(records))
        return scored

    def _find(self, index: int, record: Record) -> Scored:
        found = self._by_id.get(record.id)
        if found is None:
            raise InputError(
                "missing-scores", f"Record {index} has no scores in {self._file_name}; add a row with its id."
            )
        length = len(record.content)
        if len(found.tokens) and int(found.tokens.ends.max()) > length:
            raise InputError(
                "offset-outside",
                f"Record {index}: an offset in {self._file_name} lies outside its {length} characters; "
                "offsets are code points of the stored text.",
            )
        try:
            covering(_supervised(record), found.tokens)
        except InputError as error:
            what = error.hint.partition(";")[0]
            hint = f"Record {index} in {self._file_name}: {what}; score whole records, or cut their texts alike."
            raise InputError(error.code, hint) from None
        violating = None if found.violating is None else to_grid(found.violating)
        return replace(found, group=record.group, logprobs=to_grid(found.logprobs), violating=violating)


def _supervised(record: Record) -> str:
    """The content with blanks for what no model learns, which needs no scores."""
    content = record.content
    pieces, position = [], 0
    for start, end in record.supervised_intervals:
        pieces += [" " * (start - position), content[start:end]]
        position = end
    return "".join([*pieces, " " * (len(content) - position)])
