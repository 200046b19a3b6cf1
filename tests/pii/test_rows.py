"""Rows of an extractor: think blocks, line ends, types, values, acceptance and the flag (R1 to R9, R25)."""

from __future__ import annotations

import pytest

from sm_ops.pii import InputError, accept, normalise_source, parse_flag, parse_rows
from sm_ops.pii.rows import without_thinking
from sm_ops.pii.text import trim

pytestmark = pytest.mark.unit

W = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def test_whitespace_and_three_invisible_characters_are_trimmed_and_no_others():
    assert len(W) == 29
    for blank in W + "\u200b\u2060\ufeff":
        assert trim(f"{blank}{blank}a{blank}b{blank}") == f"a{blank}b", hex(ord(blank))
    for kept in "\u180e\u200c\u200d\u200e\u200f\u00ad\u202a\"'`-*\x00\x1b\u2800\u3164":
        assert trim(f"{kept}a{kept}") == f"{kept}a{kept}", hex(ord(kept))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a<think>b</think>c", "ac"),
        ("<think></think>", ""),
        ("<think>\nb\r\n</think>c", "c"),
        ("a<think>b", "a<think>b"),
        ("a</think>b", "a</think>b"),
        ("a</think>b<think>c", "a</think>b<think>c"),
        ("<think>a<think>b</think>c</think>d", "c</think>d"),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("<think>a</think>b<think>c", "b<think>c"),
        ("<thi<think>a</think>nk>b</think>", "<think>b</think>"),
        ("<think>a</th<think></think>b", "b"),
        ("<Think>a</Think>", "<Think>a</Think>"),
        ("<THINK>a</think>b", "<THINK>a</think>b"),
        ("<think >a</think>", "<think >a</think>"),
        ("<think>a</think >", "<think>a</think >"),
        ("<think</think>", "<think</think>"),
        ("<think>>a</think>\u0338b", "\u0338b"),
    ],
)
def test_think_blocks_are_cut_out_in_one_pass(text, rest):
    assert without_thinking(text) == rest


def test_unclosed_think_blocks_take_linear_time():
    assert without_thinking("<think>" * 20_000) == "<think>" * 20_000


@pytest.mark.parametrize(
    ("prediction", "rows"),
    [
        ("", []),
        ("PERSON\t한가람", [("PERSON", "한가람")]),
        ("REL\ta\nPERSON\tb\r\nCARD\tc\rDOB\td", [("REL", "a"), ("PERSON", "b"), ("CARD", "c"), ("DOB", "d")]),
        ("REL\ta\x0bPERSON\tb", [("REL", "a\x0bPERSON\tb")]),
        ("REL\ta\x0cb", [("REL", "a\x0cb")]),
        ("REL\ta\x1eREL\tb", [("REL", "a\x1eREL\tb")]),
        ("REL\ta\x85REL\tb", [("REL", "a\x85REL\tb")]),
        ("REL\ta\u2028REL\tb\u2029c", [("REL", "a\u2028REL\tb\u2029c")]),
        ("REL\ta\tb\t\tc", [("REL", "a\tb\t\tc")]),
        ("REL\t\ta", [("REL", "a")]),
        ("\tREL\ta", []),
        ("REL a", []),
        ("REL", []),
        ("REL\t", []),
        ("REL\t \u3000\ufeff\u2060", []),
        ("\u3000rel\u200b\ta", [("REL", "a")]),
        ("Rrn\t1\nCard\t2\neMail\t3\nphonE\t4\nDoB\t5\naCCOUNT\t6\nAdDrEsS\t7\npeRSOn\t8\nrEL\t9",
         [("RRN", "1"), ("CARD", "2"), ("EMAIL", "3"), ("PHONE", "4"), ("DOB", "5"), ("ACCOUNT", "6"),
          ("ADDRESS", "7"), ("PERSON", "8"), ("REL", "9")]),
        ("per\u017fon\ta\nema\u0131l\tb\nＲＥＬ\tc\nRÉL\td", []),
        ("TEL\ta\nNAME\tb\nPERSONS\tc\n[PERSON]\td\n- REL\te\n1. REL\tf", []),
        ("PERSON \ta\nREL\tb", [("PERSON", "a"), ("REL", "b")]),
        ("REL\tb\nREL\ta\nREL\tb", [("REL", "b"), ("REL", "a"), ("REL", "b")]),
        ("REL\tJose\u0301", [("REL", "José")]),
        ("REL\t\u1112\u1161\u11ab", [("REL", "한")]),
        ("REL\tＡ", [("REL", "Ａ")]),
        ('REL\t"a"\nREL\t- a\nREL\ta,', [("REL", '"a"'), ("REL", "- a"), ("REL", "a,")]),
        ("```\nREL\ta\n```", [("REL", "a")]),
        ("REL\ta<think>\n</think>b", [("REL", "ab")]),
        ("<think>REL\ta</think>\nREL\tb", [("REL", "b")]),
        ("<think>\nREL\ta\n</think>\u0338\nREL\tb", [("REL", "b")]),
    ],
)  # fmt: skip
def test_rows(prediction, rows):
    assert parse_rows(prediction) == rows


def test_sources_are_composed_and_otherwise_left_as_they_are():
    assert normalise_source("\u1112\u1161\u11ab e\u0301 \uf900") == "한 é \u8c48"
    for kept in ("Ａ１ ﬁ ㈜", "a\r\nb\rc\u2028", " \ufeffa\u200b ", "\ufeffa\ufeff", "ſ İ ß", "\U0001f600\u0000"):
        assert normalise_source(kept) == kept


@pytest.mark.parametrize(
    ("source", "prediction", "candidates"),
    [
        ("한가람 어머니", "REL\t어머니\nPERSON\t한가람\nREL\t어머니", [("REL", "어머니"), ("PERSON", "한가람")]),
        ("한가람", "PERSON\t한가람솔\nPERSON\t가람", [("PERSON", "가람")]),
        ("한 가 람", "PERSON\t한가람\nREL\t한가람", [("PERSON", "한가람")]),
        ("0012 34", "PHONE\t001234\nREL\t001234", [("PHONE", "001234")]),
        ("10012341", "PHONE\t001234", []),
        ("abc", "REL\tabc\nPERSON\tb", [("REL", "abc"), ("PERSON", "b")]),  # one shadows the other, both stay
        ("\u1112\u1161\u11ab", "PERSON\t한", [("PERSON", "한")]),
        ("한", "PERSON\t\u1112\u1161\u11ab", [("PERSON", "한")]),
        ("a", "REL\tA", []),
    ],
)
def test_accepted_are_the_distinct_rows_that_stand_in_the_source(source, prediction, candidates):
    assert accept(source, prediction) == candidates


@pytest.mark.parametrize(
    ("prediction", "flag"),
    [
        ("", True),
        (" \u3000\r\n\ufeff", True),
        ("<think>nothing here</think>\n", True),
        ("<think>nothing here", False),
        ("none", False),
        ("REL\t이모", True),
        ("REL\t고모", False),
        ("REL\t고모\nwords\nrel\t이모 ", True),
        ("<think>REL\t이모</think>REL\t고모", False),
        ("REL\t", False),
    ],
)
def test_an_output_is_usable_if_it_is_empty_or_names_something_in_the_source(prediction, flag):
    assert parse_flag("우리 이모", prediction) is flag


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: normalise_source(None), "E_SOURCE_TYPE at source"),
        (lambda: normalise_source(b"a"), "E_SOURCE_TYPE at source"),
        (lambda: normalise_source("a\ud800"), "E_SOURCE_SURROGATE at source"),
        (lambda: normalise_source("\udfffa"), "E_SOURCE_SURROGATE at source"),
        (lambda: normalise_source("\ud83d\ude00"), "E_SOURCE_SURROGATE at source"),
        (lambda: accept("a\udc00", "REL\ta"), "E_SOURCE_SURROGATE at source"),
        (lambda: accept("a", None), "E_PREDICTION_TYPE at prediction"),
        (lambda: accept(3, None), "E_SOURCE_TYPE at source"),
        (lambda: parse_flag("a", 3), "E_PREDICTION_TYPE at prediction"),
        (lambda: parse_rows(["REL\ta"]), "E_PREDICTION_TYPE at prediction"),
    ],
)
def test_refusals_name_a_code_and_a_place(call, told):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == told
    assert caught.value.__cause__ is None


def test_characters_beside_the_surrogates_are_text():
    assert normalise_source("\ud7ff\ue000") == "\ud7ff\ue000"
    assert parse_rows("REL\t\ud800") == [("REL", "\ud800")]  # an output may be damaged; it matches nothing
    assert accept("a", "REL\t\ud800\nREL\ta") == [("REL", "a")]
