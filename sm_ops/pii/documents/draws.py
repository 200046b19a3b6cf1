"""Draws and permutations that depend on names alone: no state, so no record can shift another (G3, G7)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from copy import copy
from typing import TypeVar

VERSION = "1"

Item = TypeVar("Item")


def below(name: str, size: int) -> int:
    """A number in [0, size) from the SHA-256 of a name, by rejection sampling on its 64-bit words."""
    limit = (1 << 64) // size * size
    digest = hashlib.sha256(name.encode()).digest()
    while True:
        for at in range(0, 32, 8):
            word = int.from_bytes(digest[at : at + 8], "big")
            if word < limit:
                return word % size
        digest = hashlib.sha256(digest).digest()


class Draws:
    """The draws of one record: draw k of slot s is the hash of `version|seed|partition|lang|i|s|k` (G3)."""

    def __init__(self, seed: int, partition: str, lang: str, index: int, first: int = 0) -> None:
        self._prefix = f"{VERSION}|{seed}|{partition}|{lang}|{index}|"
        self._first = first

    def later(self, k: int) -> Draws:
        """The same slots' draws from a later k on, for a second try at the same thing."""
        draws = copy(self)
        draws._first += k
        return draws

    def below(self, slot: str, size: int) -> int:
        """The draw of a slot, in [0, size)."""
        return below(f"{self._prefix}{slot}|{self._first}", size)

    def pick(self, slot: str, items: Sequence[Item]) -> Item:
        """One of the items, all equally likely; name an item twice to double its chance."""
        return items[self.below(slot, len(items))]

    def percent(self, slot: str, share: int) -> bool:
        """True in `share` of 100 cases."""
        return self.below(slot, 100) < share

    def digits(self, slot: str, count: int) -> str:
        """A string of decimal digits."""
        return f"{self.below(slot, 10**count):0{count}d}"


def permute(key: str, size: int, value: int) -> int:
    """A bijection of [0, size): a keyed Feistel network on a square, walked until it is back inside (G7)."""
    if not 0 <= value < size:
        raise ValueError(f"{key}: place {value} outside [0, {size})")
    side = math.isqrt(size - 1) + 1
    while True:
        left, right = divmod(value, side)
        for turn in range(4):
            left, right = right, (left + below(f"{VERSION}|{key}|{turn}|{right}", side)) % side
        value = left * side + right
        if value < size:
            return value
