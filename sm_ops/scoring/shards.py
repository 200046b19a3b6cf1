"""Scoring that survives a kill, by one process, several or a cluster: runs of batches, each kept when finished."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sm_ops.core.fingerprint import environment
from sm_ops.core.fs import canonical_json
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.core.types import Progress
from sm_ops.scaleout.engine import compute
from sm_ops.scaleout.shards import Shard
from sm_ops.scoring.plan import Batch
from sm_ops.scoring.reference import Batched, Reference

SHARD_TOKENS = 32_768


def score_in_shards(
    reference: Reference,
    records: Sequence[Record],
    folder: Path,
    progress: Progress | None = None,
    workers: int = 1,
    engine: str = "local",
    shard_tokens: int = SHARD_TOKENS,
) -> list[Scored]:
    """Score `records`, keep finished shards in `folder`, and find them there when it is called again.

    A shard is a run of whole batches with at least `shard_tokens` log probabilities. Its file is named by a digest
    of the token ids in it, of the reference's source and arithmetic, and of the libraries' versions, so it is reused
    exactly where it holds what would be computed. `engine` "local" spawns as many processes as `workers` says where
    that is over 1, and worker i takes the i-th GPU; "ray" has at most so many on the nodes of a Ray cluster. No byte
    of the result depends on engine, workers or shards. The files are restricted data. A reference that is not
    `Batched` is scored directly.

    Raises `InputError` where a worker dies; what is finished stays finished.
    """
    if not isinstance(reference, Batched):
        return reference.score(records, progress)
    plan = reference.plan(records)
    identity = canonical_json([asdict(reference.source), reference.arithmetic, environment(numeric=True)])
    shards = list(_shards(plan.batches, identity, folder, shard_tokens))
    return plan.collect(compute(reference, shards, folder, engine, workers), progress)


def _shards(batches: Sequence[Batch], identity: bytes, folder: Path, shard_tokens: int) -> Iterator[Shard]:
    first = tokens = 0
    for number, batch in enumerate(batches, 1):
        tokens += batch.scores
        if tokens >= shard_tokens or number == len(batches):
            part = list(batches[first:number])
            sizes = [each.scores for each in part]
            yield Shard(folder / f"{_digest(identity, part)}.npz", first, part, sizes)
            first, tokens = number, 0


def _digest(identity: bytes, batches: Sequence[Batch]) -> str:
    digest = hashlib.sha256(identity)
    for batch in batches:
        digest.update(np.array([batch.head, len(batch.rows)]).tobytes())
        for row in batch.rows:
            digest.update(np.array([len(row.ids), row.known, *row.ids]).tobytes())
    return digest.hexdigest()[:32]
