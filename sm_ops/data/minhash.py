"""MinHash in bands: which records are worth comparing, and how alike two records are.

Records are compared as sets of shingles, the n words in a row of their text in NFC with runs of blanks as one space (in
chats also of the roles; a shorter text is one shingle). Signatures in bands (Broder, 1997; Leskovec, Rajaraman and
Ullman, chapter 3) propose pairs; the exact Jaccard index decides.
"""

from __future__ import annotations

import hashlib
import unicodedata

import numpy as np

from sm_ops.core.records import Record

HASHES = 128
"""Length of a signature."""
MISSED = 1e-4
"""How likely a pair at the threshold may be missed."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def compared(record: Record) -> str:
    """The text that counts: equal for records that are duplicates."""
    if record.messages is None:
        return " ".join(unicodedata.normalize("NFC", record.text or "").split())
    turns = [f"{each.role} {' '.join(unicodedata.normalize('NFC', each.content).split())}" for each in record.messages]
    return "\n".join(turns)


def shingles(text: str, size: int) -> np.ndarray:
    """The distinct shingles of a compared text as sorted 64-bit hashes."""
    words = text.split()
    last = max(len(words) - size, 0)
    found = {" ".join(words[start : start + size]) for start in range(last + 1)} if words else set()
    digests = b"".join(hashlib.blake2b(each.encode(), digest_size=8).digest() for each in found)
    return np.sort(np.frombuffer(digests, "<u8"))


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Shared members over all members of two sets, as sorted arrays without repetition; 1 for two empty ones."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    union = len(one) + len(other) - shared
    return shared / union if union else 1.0


def are_near(one: np.ndarray, other: np.ndarray, threshold: float) -> bool:
    """Whether two sets of shingles have at least this Jaccard index; two empty ones have."""
    few, many = sorted((len(one), len(other)))
    return many == 0 or (few / many >= threshold and jaccard(one, other) >= threshold)


class Bands:
    """Cuts signatures into bands, as long as may be: near records have one in common, with a chance beyond `MISSED`."""

    def __init__(self, threshold: float) -> None:
        self._rows = _rows(threshold)
        generator = np.random.default_rng(0)
        self._factors = generator.integers(0, 2**63, HASHES, np.uint64) * np.uint64(2) + np.uint64(1)
        self._terms = generator.integers(0, 2**64, HASHES, np.uint64)

    def of(self, shingles: np.ndarray) -> list[tuple[int, bytes]]:
        """The bands of one record, each with its place."""
        signature = np.full(HASHES, np.iinfo(np.uint64).max)
        for start in range(0, len(shingles), 4096):
            part = shingles[start : start + 4096, None]
            mixed = part * self._factors + self._terms
            mixed ^= mixed >> np.uint64(29)
            mixed *= _GOLDEN
            np.minimum(signature, mixed.min(0), out=signature)
        return [
            (start, signature[start : start + self._rows].tobytes())
            for start in range(0, HASHES - self._rows + 1, self._rows)
        ]


def _rows(threshold: float) -> int:
    """The longest bands, which propose fewest others, that miss few enough pairs at the threshold."""
    fitting = [rows for rows in range(1, HASHES + 1) if (1 - threshold**rows) ** (HASHES // rows) <= MISSED]
    return max(fitting, default=1)
