"""The random baseline: an exact budget of eligible tokens, whatever the order or the shards (OP-26)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.baselines._mixer import mix, seeded


def mask(
    records: Sequence[Record],
    tokens: Sequence[Tokens],
    *,
    budget: int | Sequence[int],
    seed: int,
    scope: str = "corpus",
) -> list[np.ndarray]:
    """Mask exactly `budget` eligible tokens: those with the smallest keys.

    A position's key depends on the seed, its record's id and its place in the record only; equal keys go by
    record id (as bytes) and position. Scope `corpus` takes one number for all records, `record` one per record.
    Raises `InputError` for a budget that the eligible tokens cannot fill.
    """
    if scope == "corpus" and isinstance(budget, int):
        return _share(records, tokens, budget, seed)
    if scope == "record" and not isinstance(budget, int) and len(budget) == len(records):
        shares = zip(records, tokens, budget, strict=True)
        return [_share([record], [own], number, seed)[0] for record, own, number in shares]
    raise InputError(
        "bad-budget", "A random budget is one number in scope 'corpus', or one per record in scope 'record'."
    )


def _share(records: Sequence[Record], tokens: Sequence[Tokens], budget: int, seed: int) -> list[np.ndarray]:
    order = sorted(range(len(records)), key=lambda index: records[index].id.encode())
    eligible = [np.flatnonzero(own.eligible) for own in tokens]
    keys = [_keys(records[index].id, eligible[index], seed) for index in order]
    chosen = _smallest(np.concatenate([np.empty(0, np.uint64), *keys]), budget)
    masks = [np.zeros(len(own), np.bool_) for own in tokens]
    start = 0
    for index in order:
        end = start + len(eligible[index])
        masks[index][eligible[index]] = chosen[start:end]
        start = end
    return masks


def _keys(record_id: str, positions: np.ndarray, seed: int) -> np.ndarray:
    digest = hashlib.blake2b(record_id.encode(), digest_size=8).digest()
    return mix(mix(seeded(seed) ^ np.frombuffer(digest, "<u8")) + positions.astype(np.uint64))


def _smallest(keys: np.ndarray, budget: int) -> np.ndarray:
    if not 0 <= budget <= len(keys):
        raise InputError(
            "bad-budget", f"A random budget of {budget} tokens does not fit {len(keys)} eligible tokens."
        )
    chosen = np.zeros(len(keys), np.bool_)
    if budget:
        largest = np.partition(keys, budget - 1)[budget - 1]
        chosen = keys < largest
        chosen[np.flatnonzero(keys == largest)[: budget - np.count_nonzero(chosen)]] = True
    return chosen
