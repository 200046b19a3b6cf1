"""Do what is missing of a work that is cut into shards, in this process, in several, or on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sm_ops.scaleout import local, ray
from sm_ops.scaleout.shards import Shard, Work, write_manifest

ENGINES = {"local": local.run, "ray": ray.run}


def compute(
    work: Work, shards: Sequence[Shard], folder: Path, engine: str = "local", workers: int = 1
) -> Iterator[tuple[int, np.ndarray]]:
    """`(piece number, its values)` of every piece: first from the finished shards in `folder`, then as they come.

    Each shard is kept when it is finished, so after any end the same call does only what is missing, with whatever
    engine and however many `workers`; none of them changes a byte.

    Raises `InputError` where a worker dies for good, or the engine is not to be had.
    """
    write_manifest(folder, shards)
    todo = []
    for shard in shards:
        values = shard.read()
        if values is None:
            todo.append(shard)
        else:
            yield from shard.split(values)
    if todo:
        yield from ENGINES[engine](work, todo, workers)
