"""Scoring that survives a kill, by one process or several: runs of whole batches, each kept on disk when finished."""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.fingerprint import environment
from sm_ops.core.fs import canonical_json, write_atomic
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.scoring.plan import Batch, Progress
from sm_ops.scoring.reference import Batched, Reference

SHARD_TOKENS = 32_768


def score_in_shards(
    reference: Reference,
    records: Sequence[Record],
    folder: Path,
    progress: Progress | None = None,
    workers: int = 1,
    shard_tokens: int = SHARD_TOKENS,
) -> list[Scored]:
    """Score `records`, keep finished shards in `folder`, and find them there when it is called again.

    A shard is a run of whole batches with at least `shard_tokens` log probabilities. Its file is named by a digest
    of the token ids in it, of the reference's source and arithmetic, and of the libraries' versions, so it is reused
    exactly where it holds what would be computed. With `workers` over 1 as many processes are spawned, and worker i
    takes the i-th GPU; no byte of the result depends on workers or shards. The files are restricted data. A reference
    that is not `Batched` is scored directly.

    Raises `InputError` where a worker dies; what is finished stays finished.
    """
    if not isinstance(reference, Batched):
        return reference.score(records, progress)
    plan = reference.plan(records)
    identity = canonical_json([asdict(reference.source), reference.arithmetic, environment(numeric=True)])
    shards = list(_shards(plan.batches, identity, folder, shard_tokens))

    def results() -> Iterator[tuple[int, np.ndarray]]:
        todo = []
        for shard in shards:
            values = shard.read()
            if values is None:
                todo.append(shard)
            else:
                yield from zip(shard.numbers, values, strict=True)
        crew = min(workers, len(todo))
        yield from _by_workers(reference, todo, crew) if crew > 1 else _here(reference, todo)

    return plan.collect(results(), progress)


@dataclass(frozen=True)
class _Shard:
    """A run of batches of which `first` is the first one's number, and the file for their log probabilities."""

    path: Path
    first: int
    batches: list[Batch]

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.batches))

    def read(self) -> list[np.ndarray] | None:
        """The log probabilities of each batch, or None where no whole file is there."""
        try:
            values = np.load(self.path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        cuts = np.cumsum([batch.scores for batch in self.batches])
        return np.split(values, cuts[:-1]) if values.shape == (cuts[-1],) else None

    def write(self, values: Sequence[np.ndarray]) -> None:
        buffer = io.BytesIO()
        np.save(buffer, np.concatenate(values), allow_pickle=False)
        write_atomic(self.path, buffer.getvalue())


def _shards(batches: Sequence[Batch], identity: bytes, folder: Path, shard_tokens: int) -> Iterator[_Shard]:
    first = tokens = 0
    for number, batch in enumerate(batches, 1):
        tokens += batch.scores
        if tokens >= shard_tokens or number == len(batches):
            part = list(batches[first:number])
            yield _Shard(folder / f"{_digest(identity, part)}.npy", first, part)
            first, tokens = number, 0


def _digest(identity: bytes, batches: Sequence[Batch]) -> str:
    digest = hashlib.sha256(identity)
    for batch in batches:
        digest.update(np.array([batch.head, len(batch.rows)]).tobytes())
        for row in batch.rows:
            digest.update(np.array([len(row.ids), row.known, *row.ids]).tobytes())
    return digest.hexdigest()[:32]


def _here(reference: Batched, shards: Sequence[_Shard]) -> Iterator[tuple[int, np.ndarray]]:
    for shard in shards:
        values = []
        for number, batch in zip(shard.numbers, shard.batches, strict=True):
            values.append(reference.run(batch))
            yield number, values[-1]
        shard.write(values)


# ---- several processes ---------------------------------------------------------------------------------


def _by_workers(reference: Batched, shards: Sequence[_Shard], workers: int) -> Iterator[tuple[int, np.ndarray]]:
    context = multiprocessing.get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(workers):
        numbers.put(number)
    leave, held = context.Pipe(duplex=False)  # ends for the workers when this process closes it, or dies
    with ProcessPoolExecutor(workers, context, _begin, (reference, numbers, leave)) as pool:
        try:
            futures = {pool.submit(_work, shard): shard for shard in shards}
            for future in as_completed(futures):
                yield from zip(futures[future].numbers, future.result(), strict=True)
        except BrokenProcessPool:
            raise InputError(
                "worker-died",
                f"One of {workers} scoring workers died, perhaps for lack of memory; give fewer workers or a smaller "
                "token_budget and run the same command again: finished shards are kept.",
            ) from None
        except BaseException:
            held.close()
            raise


def _begin(reference: Batched, numbers: Any, leave: Connection) -> None:
    global _own
    _own = reference
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_leave_with, args=(leave,), daemon=True).start()
    reference.settle(numbers.get())


def _leave_with(leave: Connection) -> None:
    wait([leave])
    os._exit(1)


def _work(shard: _Shard) -> list[np.ndarray]:
    values = [_own.run(batch) for batch in shard.batches]
    shard.write(values)
    return values


_own: Batched
"""In a worker: the reference that it was given."""
