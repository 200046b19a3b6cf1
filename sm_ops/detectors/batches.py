"""Records through a detector in batches, in this process or in several: any number of records in bounded memory.

Batches are cut from the data alone, so the number of workers changes nothing of what is found. Each worker loads the
detector once. At most two batches a worker are under way or wait to be taken.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any

from sm_ops.core import registry
from sm_ops.core.errors import InputError, sanitise
from sm_ops.core.records import Record
from sm_ops.detectors.detector import Detection, Detector
from sm_ops.scaleout.local import leave_with

CHARACTERS = 1 << 16
"""A batch is full with so many characters, or with `RECORDS`."""
RECORDS = 512

Found = list[list[Detection]]


def own_threshold(name: str, settings: Mapping[str, Any]) -> float | None:
    """The score from which on what a detector so set finds is to be masked: 0, which is everything that it gives.

    None where it leaves the threshold to others; a member that can do so has the function `own_threshold(settings)`.
    """
    own = getattr(registry.load("detector", name), "own_threshold", None)
    return 0.0 if own is None else own(settings)


def detect_rows(
    name: str, settings: Mapping[str, Any], records: Iterable[Record], workers: int = 1
) -> Iterator[tuple[Record, list[Detection]]]:
    """Each record with what the detector `name` finds in its content, in the order of the records.

    `workers` processes are spawned where it is over 1. Raises what the detector raises, in this process as in a
    worker (a fault of a text says which records the batch holds), and `InputError` where a worker dies. No process
    outlives the iterator, nor this process.
    """
    batches = _batches(records)
    yield from _by_workers(name, settings, batches, workers) if workers > 1 else _here(name, settings, batches)


def _here(
    name: str, settings: Mapping[str, Any], batches: Iterable[tuple[int, list[Record]]]
) -> Iterator[tuple[Record, list[Detection]]]:
    detector = registry.load("detector", name).load(settings)
    for first, batch in batches:
        yield from zip(batch, _detect(detector, first, [record.content for record in batch]), strict=True)


def _by_workers(
    name: str, settings: Mapping[str, Any], batches: Iterator[tuple[int, list[Record]]], workers: int
) -> Iterator[tuple[Record, list[Detection]]]:
    context = multiprocessing.get_context("spawn")
    leave, held = context.Pipe(duplex=False)  # ends for the workers when this process closes it, or dies
    with ProcessPoolExecutor(workers, context, _begin, (name, dict(settings), leave)) as pool:
        try:
            under_way: deque[tuple[list[Record], Future[Found]]] = deque()
            while True:
                for first, batch in islice(batches, 2 * workers - len(under_way)):
                    under_way.append((batch, pool.submit(_work, first, [record.content for record in batch])))
                if not under_way:
                    return
                batch, future = under_way.popleft()
                yield from zip(batch, _result(future, name, workers), strict=True)
        except BaseException:
            held.close()
            raise


def _result(future: Future[Found], name: str, workers: int) -> Found:
    try:
        return future.result()
    except BrokenProcessPool:
        hint = f"One of {workers} workers of the detector {name!r} died, perhaps of too little memory; give fewer."
        raise InputError("worker-died", hint) from None
    except Exception as error:
        raise sanitise(error) from None  # without the worker's traceback


def _batches(records: Iterable[Record]) -> Iterator[tuple[int, list[Record]]]:
    """Records in order, each batch with the number of its first."""
    batch, size, first = [], 0, 0
    for record in records:
        batch.append(record)
        size += len(record.content)
        if size >= CHARACTERS or len(batch) == RECORDS:
            yield first, batch
            first, batch, size = first + len(batch), [], 0
    if batch:
        yield first, batch


def _detect(detector: Detector, first: int, texts: list[str]) -> Found:
    try:
        return detector.detect(texts)
    except InputError as error:
        raise InputError(error.code, f"Records from number {first} on (text 0 is that record): {error.hint}") from None


def _begin(name: str, settings: Mapping[str, Any], leave: Connection) -> None:
    global _own
    _own = (name, settings)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=leave_with, args=(leave,), daemon=True).start()


def _work(first: int, texts: list[str]) -> Found:
    try:
        return _detect(_loaded(), first, texts)
    except Exception as error:
        raise sanitise(error) from None  # here, where the place in our code is known


@cache
def _loaded() -> Detector:
    """In a worker: the detector that it was given, loaded with the first batch, where a failure can be told."""
    name, settings = _own
    return registry.load("detector", name).load(settings)


_own: tuple[str, Mapping[str, Any]]
