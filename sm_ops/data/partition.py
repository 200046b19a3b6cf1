"""Which split a host file serves: each file exactly one, and enlarging one split leaves the others alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import accumulate

from sm_ops.data.hosts import Host

SHARES = {"train": 30, "calibration": 12, "utility": 14, "reference": 14, "public": 30}
"""Per cent of the host files that each split may claim first; `public` is the plain code to pretrain on."""


def preferred_split(seed: int, file: str) -> str:
    """The split that may claim `file` first: a hash of seed and path, in proportion to `SHARES`."""
    point = _hash(seed, "share", file) % 100
    return next(split for split, top in zip(SHARES, accumulate(SHARES.values()), strict=True) if point < top)


def claim_order(seed: int, split: str, files: Iterable[str]) -> list[str]:
    """The files that `split` prefers, then the others, each part shuffled by a hash."""
    return sorted(
        files, key=lambda file: (preferred_split(seed, file) != split, _hash(seed, split, file), file)
    )


def partition(found: dict[str, list[Host]], needs: dict[str, int], seed: int) -> dict[str, list[Host]] | None:
    """Give each split as many hosts as it needs, no file serving two splits; None where that is impossible.

    First each split claims files it prefers, then those that nobody claimed, and it takes as few hosts of one
    file as will do.
    """
    for per_file in (8, 32, max(map(len, found.values()), default=0)):
        taken: dict[str, list[Host]] = {split: [] for split in needs}
        free = set(found)
        for preferred_only in (True, False):
            for split, need in needs.items():
                for file in claim_order(seed, split, free):
                    missing = need - len(taken[split])
                    if not missing or (preferred_only and preferred_split(seed, file) != split):
                        break
                    ranked = sorted(found[file], key=lambda host: _hash(seed, "host", host.shape))
                    taken[split].extend(ranked[: min(per_file, missing)])
                    free.remove(file)
        if all(len(taken[split]) == need for split, need in needs.items()):
            return taken
    return None


def _hash(seed: int, purpose: str, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{purpose}/{name}".encode()).digest()[:8], "big")
