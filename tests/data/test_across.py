"""Records in several parts are counted as brute force counts them."""

from __future__ import annotations

import random

import pytest

from sm_ops.core.records import Record
from sm_ops.data.across import across

pytestmark = pytest.mark.unit


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[start : start + 2]) for start in range(max(len(words) - 1, 1))}


def near(one: str, other: str) -> bool:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b) >= 0.6


def test_as_brute_force_counts():
    rng = random.Random(0)
    words = [f"w{number}" for number in range(200)]
    seeds = [rng.choices(words, k=12) for _ in range(30)]

    def drawn() -> str:
        text = list(rng.choice(seeds))
        for _ in range(rng.choice((0, 0, 1, 2, 6))):
            text[rng.randrange(12)] = rng.choice(words)
        return " ".join(text)

    parts = [[drawn() for _ in range(size)] for size in (15, 25, 40)]
    expected, earlier = [], []
    for part in parts:
        exact = sum(text in earlier for text in part)
        expected.append(
            (exact, sum(text not in earlier and any(near(text, each) for each in earlier) for text in part))
        )
        earlier += part
    records = [[Record(str(number), text=text) for number, text in enumerate(part)] for part in parts]
    assert across(records, threshold=0.6, shingle=2) == expected
    assert expected[0] == (0, 0)
    assert min(expected[2]) > 0


def test_nothing_and_one_part_have_no_duplicates():
    assert across([]) == []
    assert across([[Record("a", text="x"), Record("b", text="x")]]) == [(0, 0)]
    assert across([[], [Record("a", text="x")]]) == [(0, 0), (0, 0)]
    assert across([[Record("a", text="")], [Record("b", text=" ")]]) == [(0, 0), (1, 0)]
