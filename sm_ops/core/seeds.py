"""Independent seeds from names, so that adding one draw never moves another."""

from __future__ import annotations

import hashlib


def derive(seed: int, *names: str) -> int:
    """A 63-bit seed for a named purpose: the first bytes of BLAKE2b over the seed and the names."""
    text = "\x1f".join([str(seed), *names])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
