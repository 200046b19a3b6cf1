"""Scoring that survives a kill: fixed shards of the data, each finished one on disk and found again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from sm_ops.core.fs import canonical_json
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.scoring.reference import Progress, Reference
from sm_ops.scoring.scores import Source, read_scores, write_scores


def score_in_shards(
    reference: Reference,
    records: Sequence[Record],
    folder: Path,
    shard_records: int = 512,
    progress: Progress | None = None,
) -> list[Scored]:
    """Score `records` in shards of `shard_records`, cut from their order alone, and keep each in `folder`.

    A shard's file is named by a digest of its records and the reference's name, revision and tokenizer, so a
    finished one is reused exactly when it holds what would be computed. Settings that those do not show (head,
    dtype) are the caller's to keep apart by folder. The files hold token ids: the folder is restricted data.
    """
    source = Source(reference.name, reference.revision, reference.tokenizer_hash)
    scored: list[Scored] = []
    for top in range(0, len(records), shard_records):
        part = records[top : top + shard_records]
        path = folder / f"shard-{top:09d}-{_digest(part, source)}.jsonl"
        if not path.exists():
            write_scores(path, reference.score(part, _shifted(progress, top, len(records))), source)
        scored += read_scores(path)[0]
        if progress is not None:
            progress(len(scored), len(records))
    return scored


def _digest(records: Sequence[Record], source: Source) -> str:
    contents = [
        [record.id, record.group, record.text, [[m.role, m.content] for m in record.messages or ()]]
        for record in records
    ]
    identity = [source.reference, source.revision, source.tokenizer_hash, contents]
    return hashlib.sha256(canonical_json(identity)).hexdigest()[:32]


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)
