"""Known values: the plain path's result at every size, in linear time and with bounded memory."""

from __future__ import annotations

import random
import time
import tracemalloc

import naive_pii
import pytest

from sm_ops.pii import InputError, known, mask
from sm_ops.pii.known import KnownValues

pytestmark = pytest.mark.unit


def same(source, pairs):
    expected = mask(source, pairs)
    assert KnownValues(pairs).mask(source) == expected
    return expected


@pytest.mark.parametrize(
    ("source", "pairs", "text"),
    [
        ("a", [], "a"),
        ("", [("REL", "a")], ""),
        ("e\u0301", [("rel", " e\u0301 ")], "[REL_1]"),
        ("7\xa07 77", [("PERSON", "a7"), ("REL", "7")], "[REL_1]\xa0[REL_1] 77"),
        ("a1 a12", [("REL", "a1"), ("REL", "a")], "[REL_1] [REL_2]12"),  # the longest one ends between digits
        ("x12 x123", [("REL", "x12"), ("REL", "12"), ("EMAIL", "x")], "[REL_1] [EMAIL_1]123"),
        ("012-345 012345", [("CARD", "012345"), ("REL", "012-345")], "[REL_1] [CARD_1]"),
        ("012 345", [("ACCOUNT", "012345"), ("DOB", "012-345")], "[DOB_1]"),
        ("012 345 678", [("ACCOUNT", "012345"), ("DOB", "012345678")], "[DOB_1]"),
        ("012 345 6789", [("ACCOUNT", "012345"), ("DOB", "012345678")], "[ACCOUNT_1] 6789"),
        ("1a012345 5,012345", [("PHONE", "012345")], "1a[PHONE_1] 5,[PHONE_1]"),
        ("012345\u0661 \u0661012345", [("PHONE", "012345")], "012345\u0661 \u0661012345"),
        ("솔가", [("PERSON", "솔 가"), ("REL", "솔가")], "[REL_1]"),
        ("솔 가 솔", [("REL", "솔"), ("PERSON", "솔가")], "[PERSON_1] [REL_1]"),
        ("\U0001f600솔\U0001f600가", [("PERSON", "솔\U0001f600"), ("REL", "가")], "\U0001f600[PERSON_1][REL_1]"),
        ("k", [("REL", "k"), ("PERSON", "k"), ("RRN", "k")], "[RRN_1]"),
        ("[REL_1] a", [("REL", "a"), ("REL", "REL")], "[[REL_2]_1] [REL_3]"),
    ],
)  # fmt: skip
def test_the_rules_hold(source, pairs, text):
    for given in (pairs, pairs[::-1], pairs * 2):
        assert same(source, given).text == text


def test_values_that_no_source_can_hold_are_no_matter():
    assert KnownValues([("REL", "\ud800"), ("REL", "a")]).mask("a \ufffd").text == "[REL_1] \ufffd"
    assert KnownValues([("PERSON", "\ud800b"), ("REL", "b")]).mask("\ufffd b").text == "\ufffd [REL_1]"


@pytest.mark.parametrize("window", [1, 2, 3, 5, 8])
def test_matches_across_windows_are_found_once(monkeypatch, window):
    monkeypatch.setattr(known, "_WINDOW", window)
    for seed in range(60):
        text, pairs = naive_pii.hostile(seed, length=30)
        same(text, pairs)


def test_matches_of_the_longest_value_across_a_window_of_the_usual_size():
    for place in (*range(8185, 8195), 16_383, 16_384):
        text = "." * place + "솔 가 람" + "." * 9000 + "012-345-678"
        assert [start for start, *_ in same(text, [("PERSON", "솔가람"), ("ACCOUNT", "012345678")]).spans] == [
            place, place + 5 + 9000,
        ]  # fmt: skip
    value = "ab" * 9000
    assert len(same("xy" * 5000 + value + "x", [("ADDRESS", value)]).spans) == 1


def test_an_unknown_type_and_a_blank_value_are_refused_by_index():
    for wrong in (("NAME", "a"), ("REL", "\u3000")):
        with pytest.raises(InputError, match=r"^E_CANDIDATE at candidate 2$"):
            KnownValues([("REL", "a"), ("REL", "a"), wrong])


def test_a_source_that_is_no_text_is_refused():
    with pytest.raises(InputError, match=r"^E_SOURCE_TYPE at source$"):
        KnownValues([]).mask(None)


def corpus(size, values):
    """A text of so many characters and values of several types, of which some thousand places hold one."""
    rng = random.Random(size)
    syllables = [chr(0xAC00 + 28 * each) for each in range(399)]
    pairs = [
        pair
        for number in range(values // 4)
        for pair in (
            ("PERSON", "".join(rng.choices(syllables, k=3))),
            ("PHONE", f"010-{rng.randrange(10_000):04}-{rng.randrange(10_000):04}"),
            ("EMAIL", f"user{number}@mail.example"),
            ("ADDRESS", f"시험로 {number}"),
        )
    ]
    words = []
    while size > 0:
        kind, value = rng.choice(pairs)
        word = "".join(rng.choices(syllables, k=rng.randint(1, 6)))
        if rng.random() < 0.05:
            word = {"PERSON": " ".join(value), "PHONE": value.replace("-", "")}.get(kind, value)
        words.append(word)
        size -= len(word) + 1
    return " ".join(words), pairs


def test_larger_texts_give_what_the_plain_path_gives():
    text, pairs = corpus(30_000, 800)
    assert len(same(text, pairs).spans) > 300


def test_ten_thousand_values_take_a_moment():
    """Built in some 0.2 s; 300,000 characters in some 0.05 s, where the plain path takes 6 s."""
    text, pairs = corpus(300_000, 10_000)
    began = time.process_time()
    values = KnownValues(pairs)
    built = time.process_time()
    assert len(values.mask(text).spans) > 2000
    assert built - began < 2.0
    assert time.process_time() - built < 1.0


def test_memory_follows_the_window_not_the_matches(monkeypatch):
    monkeypatch.setattr(known, "_WINDOW", 500)
    values = KnownValues([("PERSON", "솔" * k) for k in range(1, 7)])
    tracemalloc.start()
    got = values.mask("솔" * 10_000)  # 60,000 matches, of which each takes some 200 bytes
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(got.spans) == 1667
    assert peak < 3e6


@pytest.mark.slow
@pytest.mark.slow
def test_a_hundred_thousand_values():
    text, pairs = corpus(20_000, 100_000)
    assert len(same(text, pairs).spans) > 50
