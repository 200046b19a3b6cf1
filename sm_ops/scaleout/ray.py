"""Shards on the nodes of a Ray cluster, asked for by a process of its own.

What Ray does to the process that asks (signal handlers, a stream of messages, an exit when the head is lost) stays
there, and ends with it.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np

from sm_ops.core.errors import ERRORS, InputError
from sm_ops.scaleout import cluster
from sm_ops.scaleout.shards import Shard, Work


def run(work: Work, shards: Sequence[Shard], workers: int) -> Iterator[tuple[int, np.ndarray]]:
    """`(piece number, its values)` by at most `workers` processes on the nodes of the cluster that RAY_ADDRESS names.

    Results come back through Ray and this process writes the files, so the nodes need no common disk for them. A
    process takes `threads` CPUs, and a GPU where the device is "cuda".

    Raises `InputError` where Ray or the cluster is not to be had, asks for no token, has no node that could work or
    one with other versions than here, and where a shard ends its process again and again.
    """
    _check_surroundings()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    pieces = [list(shard.pieces) for shard in shards]
    driver = context.Process(target=cluster.drive, args=(there, work, pieces, workers), daemon=True)
    driver.start()
    there.close()
    try:
        while answer := here.recv():
            if isinstance(answer, cluster.Failure):
                raise ERRORS[answer.kind](answer.code, answer.hint)
            shard, values = shards[answer.shard], np.frombuffer(answer.values, np.float32)
            shard.write(values)
            yield from shard.split(values)
    except EOFError:
        raise InputError(
            "ray-ended",
            "The Ray cluster ended, or took this machine out, before all was done; start it again and run the same "
            "command again: finished shards are kept.",
        ) from None
    finally:
        driver.kill()
        driver.join()
        here.close()


def _check_surroundings() -> None:
    if find_spec("ray") is None:
        raise InputError(
            "no-ray", "engine is ray, but Ray is not installed; pip install 'sm-ops[scaleout]', or set engine to local."
        )
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        raise InputError(
            "ray-without-token",
            "Ray listens on every interface of its machines, so its cluster has to ask for a token; set "
            f"RAY_AUTH_MODE=token for the nodes and here ({cluster.GUIDE}).",
        )
    address = os.environ.get("RAY_ADDRESS", "")
    if not _answers(address):
        named = f"no cluster answers at RAY_ADDRESS {address}" if address else "RAY_ADDRESS names no cluster"
        raise InputError(
            "no-ray-cluster",
            f"engine is ray, but {named}; start one and set RAY_ADDRESS to HOST:PORT of its head ({cluster.GUIDE}).",
        )


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True
