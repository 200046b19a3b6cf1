"""How many records there are, and what each must be: negative or not, which surface forms (G1, G8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sm_ops.pii.documents.draws import permute

PARTITIONS = ("train", "validation", "test")
LANGUAGES = ("ko", "en")
SIZES = {
    ("train", "ko"): 1280,
    ("train", "en"): 320,
    ("validation", "ko"): 160,
    ("validation", "en"): 40,
    ("test", "ko"): 320,
    ("test", "en"): 80,
}
TOTAL = sum(SIZES.values())
ENGLISH = sum(size for (_, lang), size in SIZES.items() if lang == "en")
NEGATIVE_PERCENT = 20
PERSONS, MOST_PAIRS, MOST_SENTENCES = 4, 8, 12  # at most, in one record
MAX_SCALE = 36  # NANP's 555-01xx numbers, told apart by area code, are used up beyond it

# Percent of the positive Korean records that show each surface form (G8).
SURFACE_PERCENT = {
    "spaced": 15,
    "gap": 10,
    "separators": 10,
    "fullwidth": 3,
    "wrapped": 3,
    "crlf": 5,
    "nfd": 3,
    "marker": 5,
}


@dataclass(frozen=True)
class Place:
    """One record's place: `number` counts over the whole data set, `english` over its English
    records, and `rank` orders the records of its cell that are negative too, or positive too."""

    partition: str
    lang: str
    index: int
    number: int
    english: int
    negative: bool
    rank: int
    surfaces: tuple[str, ...]

    @property
    def id(self) -> str:
        """`{lang}-{partition}-{number in the cell}`."""
        return f"{self.lang}-{self.partition}-{self.index:04d}"


def negatives(size: int) -> int:
    """How many of a cell's records are negative."""
    return size * NEGATIVE_PERCENT // 100


def surface_count(form: str, positives: int) -> int:
    """How many of a cell's positive records show a surface form: the percentage, rounded half up."""
    return (positives * SURFACE_PERCENT[form] + 50) // 100


def places(seed: int, scale: int) -> Iterator[Place]:
    """Every record's place, cell by cell. Shares are exact: each is the head of a keyed permutation of the cell."""
    number = english = 0
    for (partition, lang), base in SIZES.items():
        size = base * scale
        below = negatives(size)
        for index in range(size):
            key = f"{seed}|{partition}|{lang}"
            order = permute(f"{key}|negative", size, index)
            negative = order < below
            rank = order if negative else order - below
            surfaces = () if negative else _surfaces(key, lang, size, rank)
            yield Place(partition, lang, index, number, english, negative, rank, surfaces)
            number += 1
            english += lang == "en"


def _surfaces(key: str, lang: str, size: int, rank: int) -> tuple[str, ...]:
    if lang != "ko":
        return ()
    positives = size - negatives(size)
    return tuple(
        form for form in SURFACE_PERCENT if permute(f"{key}|{form}", positives, rank) < surface_count(form, positives)
    )
