"""The process that asks a Ray cluster, and what runs on its nodes, through Ray Data.

A plain pool of Ray actors waits for ever for an actor whose node died while the living ones hold all CPUs. The pool of
Ray Data does not: at the end it gives idle actors up, and what is left of the dead ones' work goes on in their place.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from sm_ops.core.errors import InputError, sanitise
from sm_ops.core.fingerprint import code_digests, environment
from sm_ops.scaleout.local import leave_with
from sm_ops.scaleout.shards import Work

ATTEMPTS = 3
"""So often may a shard be begun whose process or node dies, before the shard is taken for the cause."""
PATIENCE = 30.0
"""Seconds without a node that could work, after which nobody waits for one any more."""
GUIDE = "docs/how-to/ray.md says how"


class Done(NamedTuple):
    """A finished shard by its number, and its values (float32) as bytes."""

    shard: int
    values: bytes


class Failure(NamedTuple):
    """An `SmOpsError` that crosses processes; Ray would write the traceback of an exception to its logs."""

    kind: str
    code: str
    hint: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """The error without values of the data."""
        found = sanitise(error)
        return cls(type(found).__name__, found.code, found.hint)


def drive(parent: Connection, work: Work, shards: Sequence[list[Any]], workers: int) -> None:
    """Send the parent `Done` for each shard (a list of pieces), then None; or a `Failure`. Leave when it leaves."""
    threading.Thread(target=leave_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(silence, stream)
    needs = {"CPU": int(work.arithmetic["threads"]), "GPU": int(work.arithmetic["device"] == "cuda")}
    try:
        with _connected():
            for answer in _patiently(_answers(work, shards, workers, needs), needs):
                parent.send(answer)
        parent.send(None)
    except Exception as error:
        parent.send(Failure.of(error))


@contextmanager
def _connected() -> Iterator[None]:
    import ray

    address = os.environ["RAY_ADDRESS"]
    try:
        ray.init(address, log_to_driver=False)
    except Exception:  # what Ray raises where the token is wrong, or this machine is no node
        raise InputError(
            "ray-refused",
            f"The Ray cluster at {address} takes no work from here: its token may be another, or this machine is not "
            f"one of its nodes ({GUIDE}).",
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _has_room(needs: dict[str, int]) -> bool:
    """Whether some living node could ever run a process of the work."""
    import ray

    living = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return any(all(has.get(kind, 0) >= count for kind, count in needs.items()) for has in living)


def _answers(work: Work, shards: Sequence[list[Any]], workers: int, needs: dict[str, int]) -> Iterator[Any]:
    """`Done` or `Failure` for each shard, in any order."""
    import ray
    from ray.data import ActorPoolStrategy

    counter = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Attempts).remote()
    given = [{"shard": number, "pieces": pickle.dumps(pieces)} for number, pieces in enumerate(shards)]
    crew = min(workers, len(shards))
    rows = ray.data.from_items(given, override_num_blocks=len(given)).map(
        _Worker,  # type: ignore[arg-type]
        fn_constructor_args=(work, _versions(work), counter),
        compute=ActorPoolStrategy(min_size=1, max_size=crew, initial_size=crew),
        num_cpus=needs["CPU"],
        num_gpus=needs["GPU"],
    )
    return (pickle.loads(row["answer"]) for row in rows.iter_rows())


def _patiently(answers: Iterable[Any], needs: dict[str, int]) -> Iterator[Any]:
    """The answers as they come, read by a thread: an `InputError` where no node is left that could give another."""
    come: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(answers, come), daemon=True).start()
    there = time.monotonic() if _has_room(needs) else -PATIENCE
    while True:
        try:
            answer = come.get(timeout=PATIENCE / 6)
        except queue.Empty:
            if _has_room(needs):
                there = time.monotonic()
            elif time.monotonic() - there > PATIENCE:
                raise _no_node(needs) from None
            continue
        if answer is None:
            return
        yield answer


def _read(answers: Iterable[Any], come: queue.SimpleQueue[Any]) -> None:
    try:
        for answer in answers:
            come.put(answer)
        come.put(None)
    except Exception as error:  # Ray's own, of whatever kind
        hint = (
            f"Ray failed ({type(error).__name__}): perhaps a node lacks sm-ops, as the logs in Ray's temporary folder "
            "may say. Run the same command again: finished shards are kept."
        )
        come.put(Failure("InputError", "ray-failed", hint))


def _no_node(needs: dict[str, int]) -> InputError:
    wanted = f"{needs['CPU']} CPU" + "s" * (needs["CPU"] > 1) + " and a GPU" * needs["GPU"]
    return InputError(
        "no-ray-node",
        f"The Ray cluster has no living node with {wanted}, which a process takes; start one and run the same command "
        "again: finished shards are kept.",
    )


# ---- on the nodes --------------------------------------------------------------------------------------


class _Worker:
    """In a process of some node: the work, done only where all versions are those of the caller."""

    def __init__(self, work: Work, versions: dict[str, str], attempts: Any) -> None:
        self._work, self._attempts = work, attempts
        self._failure: Failure | None = None
        try:
            _check_versions(versions, _versions(work))
            work.settle(None)
        except Exception as error:
            self._failure = Failure.of(error)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        answer = self._failure or self._answer(int(row["shard"]), row["pieces"])
        return {"answer": pickle.dumps(answer)}

    def _answer(self, shard: int, pieces: bytes) -> Done | Failure:
        import ray

        try:
            attempt: Any = ray.get(self._attempts.begin.remote(shard))
            if attempt > ATTEMPTS:
                raise InputError(
                    "worker-died",
                    f"A shard ended its process on a Ray node {ATTEMPTS} times, perhaps for lack of memory; give a "
                    "smaller token_budget and run the same command again: finished shards are kept.",
                )
            values = np.concatenate([self._work.run(piece) for piece in pickle.loads(pieces)])
        except Exception as error:
            return Failure.of(error)
        return Done(shard, values.astype(np.float32, copy=False).tobytes())


class _Attempts:
    """An actor without CPU that counts how often each shard was begun: Ray itself would begin it for ever."""

    def __init__(self) -> None:
        self._begun: Counter[int] = Counter()

    def begin(self, shard: int) -> int:
        self._begun[shard] += 1
        return self._begun[shard]


def _versions(work: Work) -> dict[str, str]:
    """What decides the result beside the work itself: Python, the numeric libraries and our own code."""
    libraries = {name: version for name, version in environment(numeric=True).items() if name != "device"}
    return libraries | code_digests({__name__, type(work).__module__})


def _check_versions(theirs: dict[str, str], ours: dict[str, str]) -> None:
    different = sorted(name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name))
    if different:
        raise InputError(
            "ray-node-differs",
            f"The Ray node {socket.gethostname()} has another version of {', '.join(different[:5])} than the machine "
            "that asks, so its scores could differ; install the same versions on all nodes.",
        )
