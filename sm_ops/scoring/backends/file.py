"""Bring your own scores: a Parquet or JSONL score file as reference, looked up by record id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.scoring.grid import to_grid
from sm_ops.scoring.reference import Progress
from sm_ops.scoring.scores import Source, read_scores


def load(settings: Any) -> FileReference:
    """The score file `settings.model`."""
    path = Path(settings.model)
    if not path.is_file():
        raise InputError("scores-not-found", f"There is no score file {settings.model!r}; check the path.")
    scored, source = read_scores(path)
    by_id = {each.id: each for each in scored}
    if len(by_id) < len(scored):
        raise InputError(
            "duplicate-scores", f"{path.name} has {len(scored) - len(by_id)} repeated ids; keep one row for each id."
        )
    return FileReference(path.name, by_id, source)


class FileReference:
    """Scores that were computed elsewhere, as a `Reference`; it has no tokenizer."""

    tokenizer = None
    context = None

    def __init__(self, file_name: str, by_id: dict[str, Scored], source: Source) -> None:
        self.name = source.reference or file_name
        self.revision, self.tokenizer_hash = source.revision, source.tokenizer_hash
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
        return replace(found, group=record.group, logprobs=to_grid(found.logprobs))
