"""Reference scores of one's own records."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_ops.core import registry
from sm_ops.core.config import Reference, validated
from sm_ops.core.errors import InputError
from sm_ops.core.fetched import place
from sm_ops.core.fs import existing
from sm_ops.core.home import home_folder
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored
from sm_ops.core.types import Progress
from sm_ops.scoring.backends.file import FileReference, by_id
from sm_ops.scoring.scores import Source, read_scores, write_scores
from sm_ops.scoring.shards import score_in_shards
from sm_ops.surprise.records import Records, read


@dataclass(frozen=True)
class Scores:
    """Reference scores of records, and which reference they come from."""

    scored: list[Scored]
    source: Source
    name: str = "the given scores"

    def save(self, path: str | Path) -> None:
        """Write a score file (.parquet or .jsonl)."""
        write_scores(Path(path), self.scored, self.source)

    @classmethod
    def load(cls, path: str | Path) -> Scores:
        """Read a score file: one of ours, or one that another program wrote (docs/how-to/scoring.md)."""
        return cls(*read_scores(existing(path)), Path(path).name)

    def of(self, records: Sequence[Record]) -> list[Scored]:
        """The scores of exactly these records, in their order; `InputError` names the first that has none."""
        return FileReference(self.name, by_id(self.scored, self.name), self.source).score(records)


def score(
    records: Records, model: str, *, folder: str | Path | None = None, progress: Progress | None = None, **settings: Any
) -> Scores:
    """Score records under a reference model: a folder, a hub name, or what `backend` reads.

    `settings` are those of a pipeline's `references` (`backend`, `prompt`, `violating`, `prefix_token`, `dtype`,
    `device`, `token_budget`, `workers`, `engine`, `revision`). Finished shards are kept in `folder`, and found again.
    """
    given = {"model": place(model, home_folder()), **settings}
    reference = validated(Reference, given, "score").model_dump(mode="json")
    loaded = registry.load("reference", reference["backend"]).load(Settings({**reference, "examples": []}))
    found = read(records)
    if not found:
        raise InputError("no-records", "There are no records to score; give at least one.")
    with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as shards:
        scored = score_in_shards(loaded, found, Path(shards), progress, reference["workers"], reference["engine"])
    return Scores(scored, loaded.source)
