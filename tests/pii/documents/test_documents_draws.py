"""Draws are hashes of names, permutations are bijections, and no record knows of another."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from sm_ops.pii.documents.build import build
from sm_ops.pii.documents.draws import Draws, permute
from sm_ops.pii.documents.plan import ENGLISH, MAX_SCALE, PERSONS, TOTAL, places
from sm_ops.pii.documents.values.dates import days
from sm_ops.pii.documents.values.numbers import Numbers
from sm_ops.pii.documents.vocabularies import part, vocabularies

pytestmark = pytest.mark.unit


def test_a_draw_is_the_hash_of_its_name():
    digest = hashlib.sha256(b"1|42|train|ko|7|p1.name|0").digest()
    assert Draws(42, "train", "ko", 7).below("p1.name", 1000) == int.from_bytes(digest[:8], "big") % 1000
    later = hashlib.sha256(b"1|42|train|ko|7|p1.name|3").digest()
    assert Draws(42, "train", "ko", 7).later(3).below("p1.name", 10) == int.from_bytes(later[:8], "big") % 10


def test_draws_are_even():
    counts = Counter(Draws(1, "train", "en", index).below("s", 7) for index in range(7000))
    assert set(counts) == set(range(7))
    assert max(counts.values()) < 1150
    assert min(counts.values()) > 850


@pytest.mark.parametrize("size", [1, 2, 3, 10, 97, 1000])
def test_permutations_reach_every_place_once(size):
    assert sorted(permute("key", size, value) for value in range(size)) == list(range(size))
    if size > 90:
        assert [permute("key", size, value) for value in range(9)] != [permute("x", size, value) for value in range(9)]


def test_the_split_is_the_hash_of_kind_and_item():
    for item in ("가상", "서연", "Taylor"):
        eleventh = int(hashlib.sha256(f"v1|given_ko|{item}".encode()).hexdigest(), 16) % 11
        assert part("given_ko", item) == ("train" if eleventh < 8 else "validation" if eleventh == 8 else "test")


def test_days_of_birth_are_split_like_words():
    for partition, found in days().items():
        assert {part("day", f"{day.year}-{day.month:02d}-{day.day:02d}") for day in found} == {partition}
    assert sum(map(len, days().values())) == 14_610  # 40 years, ten of them with 366 days


def test_vocabularies_have_their_sizes_and_are_apart():
    least = {"given_ko": (400, 60, 150), "first_en": (100, 10, 25), "last_en": (30, 5, 10), "road": (100, 15, 35),
             "district": (20, 3, 6)}  # fmt: skip
    for kind, sizes in least.items():
        parts = vocabularies().items[kind]
        assert [name for name, size in zip(parts, sizes, strict=True) if len(set(parts[name])) < size] == []
        assert not set(parts["train"]) & set(parts["test"])
        assert not set(parts["train"]) & set(parts["validation"])


def test_a_record_is_the_same_whoever_was_made_before_it():
    every = list(places(42, 1))
    chosen = every[1500:1510] + every[3:8]
    forwards = [build(place, vocabularies(), Numbers(42, 1))[0].record for place in chosen]
    backwards = [build(place, vocabularies(), Numbers(42, 1))[0].record for place in reversed(chosen)]
    assert forwards == backwards[::-1]


def test_another_seed_gives_other_records():
    place, other = next(places(42, 1)), next(places(43, 1))
    one, two = (build(each, vocabularies(), Numbers(seed, 1))[0] for each, seed in ((place, 42), (other, 43)))
    assert one.record["id"] == two.record["id"]
    assert one.record["source_text"] != two.record["source_text"]


def test_numbers_last_up_to_the_largest_scale():
    numbers, draws = Numbers(5, MAX_SCALE), Draws(5, "train", "ko", 0)
    last = PERSONS * TOTAL * MAX_SCALE - 1
    for owner in (0, last):
        for made in (numbers.mobile, numbers.landline, numbers.account):
            assert made(owner, draws, "s")
        assert numbers.rrn(owner, "850312", False, True, draws, "s")
        assert numbers.card(owner, True, draws, "s")
    assert numbers.english_phone(PERSONS * ENGLISH * MAX_SCALE - 1, draws, "s")


def test_english_numbers_are_distinct_where_they_are_fewest():
    numbers, draws = Numbers(5, MAX_SCALE), Draws(5, "train", "en", 0)
    owners = range(0, PERSONS * ENGLISH * MAX_SCALE, 7)
    found = {"".join(c for c in numbers.english_phone(owner, draws, "s") if c.isdigit())[-10:] for owner in owners}
    assert len(found) == len(owners)
