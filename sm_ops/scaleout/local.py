"""Shards on this machine: in this process, or by several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.scaleout.shards import Shard, Work


def run(work: Work, shards: Sequence[Shard], workers: int) -> Iterator[tuple[int, np.ndarray]]:
    """`(piece number, its values)`; with `workers` over 1 as many processes are spawned, and worker i settles as i.

    Raises `InputError` where a worker dies.
    """
    crew = min(workers, len(shards))
    return _by_workers(work, shards, crew) if crew > 1 else _here(work, shards)


def _here(work: Work, shards: Sequence[Shard]) -> Iterator[tuple[int, np.ndarray]]:
    for shard in shards:
        values = []
        for number, piece in enumerate(shard.pieces, shard.first):
            values.append(work.run(piece))
            yield number, values[-1]
        shard.write(np.concatenate(values))


def _by_workers(work: Work, shards: Sequence[Shard], workers: int) -> Iterator[tuple[int, np.ndarray]]:
    context = multiprocessing.get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(workers):
        numbers.put(number)
    leave, held = context.Pipe(duplex=False)  # ends for the workers when this process closes it, or dies
    with ProcessPoolExecutor(workers, context, _begin, (work, numbers, leave)) as pool:
        try:
            futures = {pool.submit(_finish, shard): shard for shard in shards}
            for future in as_completed(futures):
                yield from futures[future].split(future.result())
        except BrokenProcessPool:
            raise InputError(
                "worker-died",
                f"One of {workers} scoring workers died, perhaps for lack of memory; give fewer workers or a smaller "
                "token_budget and run the same command again: finished shards are kept.",
            ) from None
        except BaseException:
            held.close()
            raise


def _begin(work: Work, numbers: Any, leave: Connection) -> None:
    global _own
    _own = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=leave_with, args=(leave,), daemon=True).start()
    work.settle(numbers.get())


def leave_with(leave: Connection) -> None:
    """End this process when the other end of a pipe, on which nothing is sent, is closed or its process dies."""
    wait([leave])
    os._exit(1)


def _finish(shard: Shard) -> np.ndarray:
    values = np.concatenate([_own.run(piece) for piece in shard.pieces])
    shard.write(values)
    return values


_own: Work
"""In a worker: the work that it was given."""
