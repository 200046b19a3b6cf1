"""Goldfish: about one token in k is masked, decided by a hash of the context before it (OP-27)."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.baselines._mixer import mix, seeded

_REMEMBERED = 1 << 16
"""Contexts whose decision is kept: repeated documents come near each other, distinct ones are many."""


def mask(
    records: Sequence[Record], tokens: Sequence[Tokens], *, k: int, seed: int, h: int = 13
) -> list[np.ndarray]:
    """Hash the normalised text of the up to `h` tokens before each position; the token itself has no say.

    Positions count in the record's whole token list; the first k are never masked, nor are ineligible ones.
    Equal contexts decide equally, in every record.
    """
    largest = _largest_hash(k)
    key = (seed % 2**64).to_bytes(8, "little")

    @lru_cache(_REMEMBERED)
    def drops(context: str) -> bool:
        digest = hashlib.blake2b(normalise(context).encode(), digest_size=8, key=key).digest()
        return int.from_bytes(digest, "little") <= largest

    masks = []
    for record, own in zip(records, tokens, strict=True):
        text, starts = record.content, own.starts.tolist()
        own_mask = np.zeros(len(own), np.bool_)
        for position in np.flatnonzero(own.eligible).tolist():
            if position >= k:
                own_mask[position] = drops(text[starts[max(0, position - h)] : starts[position]])
        masks.append(own_mask)
    return masks


def mask_ids(tokens: Sequence[Tokens], *, k: int, seed: int, h: int = 13) -> list[np.ndarray]:
    """The same for ids without text: the mixer folded over the up to `h` ids before each position."""
    largest = np.uint64(_largest_hash(k))
    masks = []
    for own in tokens:
        fold = np.repeat(seeded(seed), len(own))
        successors = own.ids.astype(np.uint64) + np.uint64(1)
        for back in range(min(h, len(own) - 1), 0, -1):  # the oldest id first
            fold[back:] = mix(fold[back:] ^ successors[:-back])
        masks.append((fold <= largest) & (np.arange(len(own)) >= k) & own.eligible)
    return masks


def normalise(text: str) -> str:
    """Delete soft hyphens, apply NFKC, make every run of whitespace one blank, and strip."""
    return " ".join(unicodedata.normalize("NFKC", text.replace("\u00ad", "")).split())


def _largest_hash(k: int) -> int:
    if k < 1:
        raise InputError("bad-goldfish", f"Goldfish masks one token in k; k must be at least 1 but is {k}.")
    return 2**64 // k - 1
