"""Masking and restoring: one scan, the best match, tokens, mappings, refusals (R15 to R23)."""

from __future__ import annotations

import pickle
import time
from itertools import pairwise, permutations

import pytest

from sm_ops.core.errors import sanitise
from sm_ops.pii import TYPES, InputError, Masked, mask, restore
from sm_ops.pii.replacement import replace

pytestmark = pytest.mark.unit

PRIORITY = ("RRN", "CARD", "EMAIL", "PHONE", "DOB", "ACCOUNT", "ADDRESS", "PERSON", "REL")


@pytest.mark.parametrize(
    ("source", "candidates", "text"),
    [
        # R15: from the left, on at the end of what was taken
        ("ab cd", [("REL", "b c"), ("REL", "ab")], "[REL_1] cd"),
        ("aaaaa", [("REL", "aa")], "[REL_1][REL_1]a"),
        ("abcdef", [("REL", "bcdef"), ("PERSON", "ab"), ("REL", "cd")], "[PERSON_1][REL_1]ef"),
        ("abab", [("REL", "ab"), ("REL", "ba")], "[REL_1][REL_1]"),
        ("솔솔솔", [("PERSON", "솔솔")], "[PERSON_1]솔"),
        ("", [("REL", "a")], ""),
        ("a", [], "a"),
        ("b", [("REL", "a")], "b"),
        # R16: the longest, then a literal
        ("abc", [("RRN", "ab"), ("REL", "abc")], "[REL_1]"),
        ("솔 가 솔", [("REL", "솔"), ("PERSON", "솔가")], "[PERSON_1] [REL_1]"),
        ("솔가", [("PERSON", "솔 가"), ("REL", "솔가")], "[REL_1]"),
        ("012-345", [("CARD", "012345"), ("REL", "012-345")], "[REL_1]"),
        ("012-345", [("CARD", "012345"), ("ACCOUNT", "012-345")], "[ACCOUNT_1]"),
        ("012-345 6", [("RRN", "012345"), ("REL", "012-345 6")], "[REL_1]"),
        ("(012)345", [("DOB", "(012)"), ("PHONE", "012345")], "[DOB_1]345"),
        ("a1 2", [("REL", "a1"), ("EMAIL", "a")], "[REL_1] 2"),
        ("a12", [("REL", "a1"), ("EMAIL", "a")], "[EMAIL_1]12"),  # the longer one ends between digits
        # R17: two variants of one spelling
        ("012 345", [("ACCOUNT", "012345"), ("DOB", "012-345")], "[DOB_1]"),
        ("012 345", [("RRN", "012345"), ("PERSON", "012 345")], "[PERSON_1]"),
        # R18: counters by type, in the order of the source, by spelling
        ("b a b", [("REL", "a"), ("REL", "b")], "[REL_1] [REL_2] [REL_1]"),
        ("a b c", [("REL", "a"), ("PERSON", "b"), ("REL", "c")], "[REL_1] [PERSON_1] [REL_2]"),
        ("솔가 솔 가 솔가", [("PERSON", "솔가")], "[PERSON_1] [PERSON_2] [PERSON_1]"),
        ("012345 012-345 ０１２345", [("PHONE", "012345")], "[PHONE_1] [PHONE_2] [PHONE_3]"),
        ("Ann ANN", [("REL", "Ann"), ("REL", "ANN")], "[REL_1] [REL_2]"),
        # R19: names that stand in the source are passed over, for their type
        ("[REL_1] a", [("REL", "a")], "[REL_1] [REL_2]"),
        ("a [REL_1] b [REL_3] c", [("REL", "a"), ("REL", "b"), ("REL", "c")],
         "[REL_2] [REL_1] [REL_4] [REL_3] [REL_5]"),
        ("x[REL_1]y a b", [("REL", "a"), ("PERSON", "b")], "x[REL_1]y [REL_2] [PERSON_1]"),
        ("[[REL_1] a", [("REL", "a")], "[[REL_1] [REL_2]"),
        ("[REL_01] [REL_0] [rel_1] [REL-1] [REL_1 REL_1] [REL_12] [RELS_1] a", [("REL", "a")],
         "[REL_01] [REL_0] [rel_1] [REL-1] [REL_1 REL_1] [REL_12] [RELS_1] [REL_1]"),
        ("[REL_１] a", [("REL", "a")], "[REL_１] [REL_1]"),
        ("[REL_1] REL 1", [("ACCOUNT", "1")], "[REL_[ACCOUNT_1]] REL [ACCOUNT_1]"),
        ("[ACCOUNT_1] 1", [("ACCOUNT", "1")], "[ACCOUNT_[ACCOUNT_2]] [ACCOUNT_2]"),
        # R1, R2: candidates are normalised as rows are
        ("\u1112\u1161\u11ab", [(" person ", "\u3000\u1112\u1161\u11ab\ufeff")], "[PERSON_1]"),
        ("e\u0301e", [("REL", "e")], "é[REL_1]"),
        # nothing is a pattern or a template
        (r"a+ aa \1 $0", [("REL", "a+"), ("EMAIL", r"\1"), ("PERSON", "$0")], "[REL_1] aa [EMAIL_1] [PERSON_1]"),
    ],
)  # fmt: skip
def test_masking(source, candidates, text):
    for given in (candidates, candidates[::-1], candidates * 2):
        got = mask(source, given)
        assert got.text == text
        assert restore(got.text, got.mapping) == mask(source, []).text


def test_what_masking_gives():
    got = mask(
        "a e\u0301 솔 가, \U0001f600솔가\r\n012-345", [("PHONE", "012345"), ("PERSON", "솔가"), ("REL", "\u00e9")]
    )
    assert got.text == "a [REL_1] [PERSON_1], \U0001f600[PERSON_2]\r\n[PHONE_1]"
    assert got.mapping == {"[REL_1]": "é", "[PERSON_1]": "솔 가", "[PERSON_2]": "솔가", "[PHONE_1]": "012-345"}
    assert got.spans == [(2, 3, "[REL_1]"), (4, 7, "[PERSON_1]"), (10, 12, "[PERSON_2]"), (14, 21, "[PHONE_1]")]
    assert isinstance(got, Masked)


def test_nothing_found_gives_the_composed_source():
    assert tuple(mask("e\u0301", [("REL", "a")])) == ("é", {}, [])


def test_the_strongest_of_two_types_takes_a_spelling():
    assert TYPES == PRIORITY
    for stronger, weaker in pairwise(PRIORITY):
        for candidates in permutations([(stronger, "Q"), (weaker, "Q")]):
            assert mask("Q", candidates).text == f"[{stronger}_1]"
    for stronger, weaker in pairwise(["RRN", "CARD", "PHONE", "DOB", "ACCOUNT"]):
        for candidates in permutations([(stronger, "01-2345"), (weaker, "012-345")]):
            assert mask("012345", candidates).text == f"[{stronger}_1]"


def test_each_type_counts_by_itself():
    got = mask("abcdefghi", [(type_, letter) for type_, letter in zip(TYPES, "abcdefghi", strict=True)])
    assert got.text == "".join(f"[{type_}_1]" for type_ in TYPES)


def test_the_eleventh_token_has_two_digits():
    letters = "abcdefghijk"
    got = mask(letters, [("REL", each) for each in letters])
    assert list(got.mapping) == [f"[REL_{number}]" for number in range(1, 12)]
    assert restore(got.text, got.mapping) == letters


@pytest.mark.parametrize(
    ("text", "mapping", "restored"),
    [
        ("[REL_1]", {"[REL_1]": "a"}, "a"),
        ("[REL_1][REL_2] [REL_1]", {"[REL_1]": "a"}, "a[REL_2] a"),
        ("[REL_1]", {"[REL_1]": "[REL_1]"}, "[REL_1]"),
        ("[REL_1][REL_2]", {"[REL_1]": "[REL_2]", "[REL_2]": "x"}, "[REL_2]x"),
        ("[REL_1]", {"[REL_1]": "[REL", "[REL_2]": "x"}, "[REL"),
        ("[[REL_1]_1]", {"[REL_1]": "REL"}, "[REL_1]"),
        ("[REL_11][REL_1]", {"[REL_1]": "a", "[REL_11]": "b"}, "ba"),
        ("[REL_1", {"[REL_1]": "a"}, "[REL_1"),
        ("[rel_1] [REL_01] [PERSON_1]", {"[REL_1]": "a"}, "[rel_1] [REL_01] [PERSON_1]"),
        ("[REL_1]", {"[REL_1]": ""}, ""),
        ("[REL_1]", {"[REL_1]": r"\g<0>\1\n$0{}"}, r"\g<0>\1\n$0{}"),
        ("e\u0301[REL_1]\r\n", {"[REL_1]": "e\u0301"}, "e\u0301e\u0301\r\n"),
        ("", {}, ""),
        ("[RRN_1][CARD_2][EMAIL_3][PHONE_4][DOB_5][ACCOUNT_6][ADDRESS_7][PERSON_80][REL_90]",
         {"[RRN_1]": "1", "[CARD_2]": "2", "[EMAIL_3]": "3", "[PHONE_4]": "4", "[DOB_5]": "5", "[ACCOUNT_6]": "6",
          "[ADDRESS_7]": "7", "[PERSON_80]": "8", "[REL_90]": "9"}, "123456789"),
    ],
)  # fmt: skip
def test_restoring(text, mapping, restored):
    assert restore(text, mapping) == restored


@pytest.mark.parametrize(
    "entry",
    ["REL_1", "[REL_1", "REL_1]", "[REL_0]", "[REL_01]", "[REL_]", "[REL_1] ", " [REL_1]", "[REL_1]\n", "[rel_1]",
    "[REL1]",
     "[NAME_1]", "[REL_-1]", "[REL_+1]", "[REL_1.0]", "[REL_1][REL_2]", "[REL_\u0661]", "[REL_１]", "", 1, None],
)  # fmt: skip
def test_mappings_have_tokens_for_keys(entry):
    with pytest.raises(InputError, match=r"^E_MAPPING at mapping entry 1$"):
        restore("", {"[REL_9]": "a", entry: "b"})


@pytest.mark.parametrize("value", [None, 1, b"a", ["a"]])
def test_mappings_have_strings_for_values(value):
    with pytest.raises(InputError, match=r"^E_MAPPING at mapping entry 0$"):
        restore("", {"[REL_1]": value})


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: mask(None, [("NAME", "a")]), "E_SOURCE_TYPE at source"),
        (lambda: mask("\ud800", [("NAME", "a")]), "E_SOURCE_SURROGATE at source"),
        (lambda: mask("a", [("REL", "a"), ("NAME", "a"), ("REL", "")]), "E_CANDIDATE at candidate 1"),
        (lambda: mask("a", [("REL", "a"), ("REL", " \u200b\u3000")]), "E_CANDIDATE at candidate 1"),
        (lambda: mask("a", [("", "a")]), "E_CANDIDATE at candidate 0"),
        (lambda: mask("a", [("ADDRE\u017fS", "a")]), "E_CANDIDATE at candidate 0"),
        (lambda: mask("a", [("REL", "a"), ("REL", "a"), ("REL", None)]), "E_CANDIDATE at candidate 2"),
        (lambda: mask("a", [("REL",)]), "E_CANDIDATE at candidate 0"),
        (lambda: mask("a", [("REL", "a", "b")]), "E_CANDIDATE at candidate 0"),
        (lambda: mask("a", [None]), "E_CANDIDATE at candidate 0"),
        (lambda: mask("a", ["REL"]), "E_CANDIDATE at candidate 0"),
        (lambda: restore(None, {1: 2}), "E_SOURCE_TYPE at text"),
        (lambda: restore("a", [("[REL_1]", "a")]), "E_MAPPING at mapping"),
    ],
)
def test_refusals_name_a_code_and_a_place(call, told):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == told
    assert caught.value.__cause__ is None
    code, place = told.split(" at ")
    sentence = str(sanitise(caught.value))  # as it is shown, from whatever process
    assert sentence.lower().startswith(f"{place}: ")
    assert sentence.endswith(f". [{code}]")
    assert str(pickle.loads(pickle.dumps(caught.value))) == told


def test_what_is_printed_shows_no_value():
    shown = repr(mask("비밀 둘", [("REL", "비밀")]))
    assert "비밀" not in shown
    assert "REL_1" not in shown


HOSTILE = [
    ("one digit", "1" * 20_000, [("ACCOUNT", "1" * k) for k in range(1, 201)], 0),
    ("spaced digits", "1 " * 10_000, [("ACCOUNT", "1" * k) for k in range(6, 206)], 10_000 // 205 + 1),
    ("wide gaps", "1----" * 4_000, [("ACCOUNT", "1" * k) for k in range(6, 206)], 0),
    ("gaps alone", "-" * 20_000, [("ACCOUNT", "1" * k) for k in range(6, 206)], 0),
    ("near misses", "12 " * 6_000, [("ACCOUNT", "12" * k + "3") for k in range(6, 206)], 0),
    ("one syllable", "솔" * 20_000, [("PERSON", "솔" * k) for k in range(1, 7)], 3_334),
    ("uneven gaps", "솔  솔 " * 4_000, [("PERSON", "솔" * k) for k in range(2, 7)], 4_000),
    ("one letter", "a" * 20_000, [("EMAIL", "a" * k) for k in range(1, 201)], 100),
    ("long periods", "a" * 20_000, [("EMAIL", "a" * 90 * k) for k in range(1, 201)], 2),
    ("long near misses", "a" * 20_000, [("EMAIL", "a" * 90 * k + "b") for k in range(1, 201)], 0),
]


@pytest.mark.parametrize(("text", "candidates", "spans"), [each[1:] for each in HOSTILE], ids=[e[0] for e in HOSTILE])
def test_hostile_texts_take_milliseconds(text, candidates, spans):
    """20,000 characters and up to 200 candidates: some 50 ms each, where trying each place takes minutes."""
    began = time.process_time()
    got = mask(text, candidates)
    assert time.process_time() - began < 1.0
    assert len(got.spans) == spans


def test_many_spellings_take_linear_time():
    """Names that stand in the source are found once, not looked for with every new token."""
    text = "[REL_7]" + "".join(f"n{number:05}" for number in range(50_000))
    began = time.process_time()
    got = replace(text, [(start, start + 6, "REL") for start in range(7, len(text), 6)])
    assert time.process_time() - began < 2.0
    assert len(got.mapping) == 50_000
    assert "[REL_7]" not in got.mapping
    assert restore(got.text, got.mapping) == text
