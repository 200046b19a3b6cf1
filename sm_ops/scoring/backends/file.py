"""Bring your own scores: Parquet or JSONL score files as reference, looked up by record id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.scoring.contrast import align
from sm_ops.scoring.grid import to_grid
from sm_ops.scoring.plan import Progress
from sm_ops.scoring.scores import Source, read_scores

_ByID = dict[str, Scored]


def load(settings: Any) -> FileReference:
    """The score file `settings.model`; with `settings.violating` that file holds the scores under a violating prompt.

    A file may also hold both, in its column `logprobs_violating`.
    """
    path = Path(settings.model)
    by_id, source = _read(path)
    if settings.violating is not None:
        by_id = _contrast(by_id, path, Path(settings.violating))
    return FileReference(path.name, by_id, source)


def _read(path: Path) -> tuple[_ByID, Source]:
    if not path.is_file():
        raise InputError("scores-not-found", f"There is no score file '{path}'; check the path.")
    scored, source = read_scores(path)
    by_id = {each.id: each for each in scored}
    if len(by_id) < len(scored):
        raise InputError(
            "duplicate-scores", f"{path.name} has {len(scored) - len(by_id)} repeated ids; keep one row for each id."
        )
    return by_id, source


def _contrast(compliant: _ByID, path: Path, violating_path: Path) -> _ByID:
    """Records that are in one file alone are left out; who asks for one is told that it has no scores."""
    violating = _read(violating_path)[0]
    for name, by_id in ((path.name, compliant), (violating_path.name, violating)):
        if any(each.violating is not None for each in by_id.values()):
            raise InputError(
                "two-contrasts", f"{name} already has logprobs_violating; leave it out, or leave `violating` empty."
            )
    return {name: align(violating[name], compliant[name]) for name in violating if name in compliant}


class FileReference:
    """Scores that were computed elsewhere, as a `Reference`; it has no tokenizer."""

    tokenizer = None
    context = None

    def __init__(self, file_name: str, by_id: _ByID, source: Source) -> None:
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
        violating = None if found.violating is None else to_grid(found.violating)
        return replace(found, group=record.group, logprobs=to_grid(found.logprobs), violating=violating)
