from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from itertools import pairwise
from types import SimpleNamespace

import brute_force
import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.registry import load, members
from sm_ops.masking import baselines
from sm_ops.masking.baselines import goldfish, oracle, random
from sm_ops.masking.baselines._mixer import mix

pytestmark = pytest.mark.unit

M = 2**64


def mix_by_hand(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) % M
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % M
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % M
    return z ^ (z >> 31)


def words(text: str, rng: np.random.Generator) -> np.ndarray:
    cuts = np.unique(np.concatenate([[0, len(text)], rng.integers(0, len(text), len(text) // 3)]))
    return np.array(list(pairwise(cuts.tolist())))


def corpus(rng: np.random.Generator) -> tuple[list[Record], list]:
    records, tokens = [], []
    for number in range(6):
        text = "".join(rng.choice(list("abc de\n김ﬁ"), 60))
        offsets = words(text, rng)
        records.append(Record(f"r{number}", text=text, spans=(Span(3, 9, "x"),)))
        tokens.append(brute_force.tokens(len(offsets), offsets, supervised=rng.random(len(offsets)) < 0.8))
    return records, tokens


def test_every_baseline_is_a_member_and_masks_eligible_tokens_only():
    records, tokens = corpus(np.random.default_rng(8))
    settings = {"oracle": {}, "random": {"budget": 9, "seed": 1}, "goldfish": {"k": 2, "seed": 1}}
    assert set(members("baseline")) == set(settings)
    for name, own_settings in settings.items():
        masks = load("baseline", name).mask(records, tokens, **own_settings)
        assert [len(mask) for mask in masks] == [len(own) for own in tokens]
        assert not any((mask & ~own.eligible).any() for mask, own in zip(masks, tokens, strict=True))
        assert any(mask.any() for mask in masks)


def test_a_baseline_gets_what_its_parameters_ask_for(monkeypatch):
    records, tokens = corpus(np.random.default_rng(15))
    points = {"SM50": [np.arange(len(own)) < 1 for own in tokens], "SM95": [np.arange(len(own)) < 2 for own in tokens]}

    def masks(name, value, seed=3):
        return baselines.masks(name, value, records, tokens, seed=seed, surprise=points)

    def same(one, other):
        return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))

    assert same(masks("oracle", None), oracle.mask(records, tokens))
    assert same(masks("goldfish", 2), goldfish.mask(records, tokens, k=2, seed=3))
    assert same(masks("random", 0.5), random.mask(records, tokens, budget=6, seed=3))
    assert same(masks("random", 0.95), random.mask(records, tokens, budget=12, seed=3))
    assert not same(masks("random", 0.95), masks("random", 0.95, seed=4))
    for name, value, code in (("random", 0.7, "unknown-point"), ("goldfish", None, "no-value")):
        with pytest.raises(InputError) as refused:
            masks(name, value)
        assert refused.value.code == code

    def mask(records, tokens, *, rate, shift=1):
        return [np.full(len(own), rate * shift) for own in tokens]

    monkeypatch.setattr(baselines, "load", lambda kind, name: SimpleNamespace(mask=mask))
    assert masks("new", 0.25)[0][0] == 0.25


def test_mixer_is_splitmix64():
    values = [0, 1, 12345678901234567890, M - 1]
    assert mix(np.array(values, np.uint64)).tolist() == [mix_by_hand(value) for value in values]
    assert mix_by_hand(0) == 0xE220A8397B1DCDAF


def test_random_takes_the_smallest_keys():
    records, tokens = corpus(np.random.default_rng(9))
    ranked = sorted(
        (mix_by_hand((mix_by_hand(mix_by_hand(5) ^ own_hash) + j) % M), record.id.encode(), j)
        for record, own in zip(records, tokens, strict=True)
        for own_hash in [int.from_bytes(hashlib.blake2b(record.id.encode(), digest_size=8).digest(), "little")]
        for j in np.flatnonzero(own.eligible).tolist()
    )
    for budget in (0, 1, 17, len(ranked)):
        masks = random.mask(records, tokens, budget=budget, seed=5)
        got = {(r.id.encode(), j) for r, own in zip(records, masks, strict=True) for j in np.flatnonzero(own).tolist()}
        assert got == {key[1:] for key in ranked[:budget]}


def test_random_depends_neither_on_order_nor_on_other_records_lengths():
    rng = np.random.default_rng(10)
    records, tokens = corpus(rng)
    order = rng.permutation(len(records)).tolist()
    masks = random.mask(records, tokens, budget=23, seed=2)
    shuffled = random.mask([records[i] for i in order], [tokens[i] for i in order], budget=23, seed=2)
    assert sum(int(mask.sum()) for mask in masks) == 23
    for place, index in enumerate(order):
        np.testing.assert_array_equal(shuffled[place], masks[index])
    other_seed = random.mask(records, tokens, budget=23, seed=3)
    assert any((a != b).any() for a, b in zip(masks, other_seed, strict=True))


def test_random_ties_go_by_record_id_and_position(monkeypatch):
    monkeypatch.setattr(random, "_keys", lambda record_id, positions, seed: np.ones(len(positions), np.uint64))
    records = [Record(name, text="") for name in ("é", "b", "a")]  # in bytes: a, b, é
    masks = random.mask(records, [brute_force.tokens(3)] * 3, budget=5, seed=0)
    assert [mask.tolist() for mask in masks] == [[False] * 3, [True, True, False], [True] * 3]


def test_random_budget_per_record_and_bad_budgets():
    records, tokens = corpus(np.random.default_rng(11))
    masks = random.mask(records, tokens, budget=[0, 1, 2, 3, 4, 5], seed=0, scope="record")
    assert [int(mask.sum()) for mask in masks] == [0, 1, 2, 3, 4, 5]
    eligible = sum(int(own.eligible.sum()) for own in tokens)
    for bad in ({"budget": eligible + 1}, {"budget": -1}, {"budget": [1] * 6}, {"budget": 3, "scope": "record"}):
        with pytest.raises(InputError) as refused:
            random.mask(records, tokens, seed=0, **bad)
        assert refused.value.code == "bad-budget"


def goldfish_by_hand(text: str, starts: list[int], k: int, seed: int, h: int) -> list[bool]:
    masked = []
    for i, start in enumerate(starts):
        context = text[starts[max(0, i - h)] : start].replace("\u00ad", "")
        context = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", context)).strip()
        digest = hashlib.blake2b(context.encode(), digest_size=8, key=seed.to_bytes(8, "little")).digest()
        masked.append(i >= k and int.from_bytes(digest, "little") < M // k)
    return masked


def test_goldfish_text_form_follows_the_rule():
    records, tokens = corpus(np.random.default_rng(12))
    for k, seed, h in ((1, 0, 13), (3, 7, 4), (4, M - 1, 13)):
        for record, own, mask in zip(records, tokens, goldfish.mask(records, tokens, k=k, seed=seed, h=h), strict=True):
            expected = np.array(goldfish_by_hand(record.text or "", own.starts.tolist(), k, seed, h))
            np.testing.assert_array_equal(mask, expected & own.eligible)


def test_goldfish_ignores_the_token_itself_and_what_follows():
    text = "one two three four five six seven eight nine ten " * 4
    offsets = [[m.start(), m.end()] for m in re.finditer(r"\S+\s", text)]
    own = brute_force.tokens(len(offsets), offsets)
    before = goldfish.mask([Record("r", text=text)], [own], k=3, seed=0)[0]
    for position in (3, 10, 25):
        start = offsets[position][0]
        changed = text[:start] + "#" * (len(text) - start)
        after = goldfish.mask([Record("r", text=changed)], [own], k=3, seed=0)[0]
        np.testing.assert_array_equal(after[: position + 1], before[: position + 1])


def test_goldfish_ids_follow_the_rule():
    rng = np.random.default_rng(13)
    for length in (0, 1, 2, 40):
        ids = rng.integers(0, 50_000, length).tolist()
        for k, seed, h in ((1, 0, 13), (3, 9, 4)):
            own = brute_force.tokens(length, ids=ids, supervised=rng.random(length) < 0.8)
            expected = []
            for i in range(length):
                fold = mix_by_hand(seed)
                for previous in ids[max(0, i - h) : i]:
                    fold = mix_by_hand(fold ^ (previous + 1))
                expected.append(fold < M // k and i >= k and bool(own.eligible[i]))
            assert goldfish.mask_ids([own], k=k, seed=seed, h=h)[0].tolist() == expected


def test_goldfish_rate_is_one_in_k():
    own = brute_force.tokens(40_000, ids=np.random.default_rng(14).integers(0, 30_000, 40_000))
    for k in (2, 3, 10):
        rate = goldfish.mask_ids([own], k=k, seed=0)[0].mean()
        assert abs(rate - 1 / k) < 5 * np.sqrt(1 / k / 40_000)


def test_goldfish_whitespace_is_that_of_regular_expressions():
    blanks = [chr(c) for c in range(sys.maxunicode + 1) if re.fullmatch(r"\s", chr(c))]
    assert goldfish.normalise("a" + "".join(blanks) + "b") == "a b"
    assert not any(c.isspace() for c in map(chr, range(sys.maxunicode + 1)) if c not in blanks)
    with pytest.raises(InputError):
        goldfish.mask([], [], k=0, seed=0)


def test_oracle_masks_exactly_the_targets():
    record = Record("r", text="abcdefgh", spans=(Span(5, 7, "x"), Span(2, 2, "empty")))
    own = brute_force.tokens(4, [[0, 2], [2, 4], [4, 6], [6, 8]], supervised=[1, 1, 1, 0])
    assert oracle.mask([record], [own])[0].tolist() == [False, False, True, False]
