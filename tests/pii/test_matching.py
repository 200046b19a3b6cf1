"""Where values stand: literals, spaced names, numbers with other separators, edges between digits (R10 to R14)."""

from __future__ import annotations

import pytest

from sm_ops.pii.matching import Source, occurrences, stands_in

pytestmark = pytest.mark.unit

W = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
SIGNS = "-./()+\xb7\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\u3161\uff0d\uff0e\uff0f\uff08\uff09\uff0b"
INVISIBLE = "\xad\u200b\u200c\u200d\u200e\u200f\u2060\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"


def spans(text, type_, value):
    return [(start, end) for start, end, _ in occurrences(text, type_, value)]


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("abcab", "ab", [(0, 2), (3, 5)]),
        ("aaaa", "aa", [(0, 2), (1, 3), (2, 4)]),
        ("Annual Ann", "Ann", [(0, 3), (7, 10)]),
        ("ANN ann", "Ann", []),
        ("a.c abc", "a.c", [(0, 3)]),
        ("a b", "ab", []),
        ("ab", "abc", []),
        ("\U0001f600ab\U0001f600", "\U0001f600", [(0, 1), (3, 4)]),
        ("", "a", []),
        ("이모님", "이모", [(0, 2)]),
        ("a\u200bb ab", "ab", [(4, 6)]),
    ],
)
def test_literals_stand_at_every_place(text, value, expected):
    assert spans(text, "REL", value) == expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("12", "1", []),
        ("12", "2", []),
        ("x1", "1", [(1, 2)]),
        ("1 1x1", "1", [(0, 1), (2, 3), (4, 5)]),
        ("21a", "1a", []),
        ("1a1a", "1a", [(0, 2), (2, 4)]),
        ("11a1a", "1a", [(3, 5)]),
        ("a12", "a1", []),
        ("a1a12a1", "a1", [(0, 2), (5, 7)]),
        ("7가8", "가", [(1, 2)]),
        ("가7 가78", "가7", [(0, 2)]),
        ("1\u0664", "1", []),  # Arabic-Indic 4
        ("\uff171 1", "1", [(3, 4)]),  # full-width 7
        ("\u0966a \u0966\u0967a", "\u0967a", []),  # Devanagari
        ("1\u00b2 \u24601 1\u4e00 1\u2460", "1", [(0, 1), (4, 5), (6, 7), (9, 10)]),  # no decimal digits
        ("111111 1", "1", [(7, 8)]),
    ],
)
@pytest.mark.parametrize("type_", ["EMAIL", "ADDRESS", "REL", "PERSON", "CARD"])
def test_no_match_begins_or_ends_between_two_digits(text, value, expected, type_):
    assert spans(text, type_, value) == expected


@pytest.mark.parametrize("gap", ["", " ", "  ", "\t", "\n", "\r\n", "\xa0", "\u3000"])
@pytest.mark.parametrize("given", ["솔가람", "솔 가람", "솔 가 람"])
def test_names_stand_with_each_permitted_gap(gap, given):
    name = gap.join("솔가람")
    for characters in ("솔", "가", "람"):
        assert characters in name
    found = occurrences(f"x{name}y", "PERSON", given)
    assert found == [(1, 1 + len(name), name == given)]


@pytest.mark.parametrize(
    "gap", ["   ", "\r", " \t", "\n\n", "\r\n ", "\u2009", "\u200b", "-", ".", "\x0b", "\u2028", "\xa0\xa0", "\u3000 "]
)
def test_names_do_not_stand_with_other_gaps(gap):
    assert spans(f"솔{gap}가{gap}람", "PERSON", "솔가람") == []


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("솔 가람", "솔가람", []),
        ("솔 가  람", "솔가람", []),
        ("솔 가\t람", "솔가람", []),
        ("솔가 람", "솔 가람", []),
        ("솔 솔 솔", "솔솔", [(0, 3), (2, 5)]),
        ("솔 솔솔", "솔솔", [(0, 3), (2, 4)]),
        ("솔 솔 가", "솔가", [(2, 5)]),
        ("Q R Q  R QR", "QR", [(0, 3), (4, 8), (9, 11)]),
        ("Q", "Q", [(0, 1)]),
        ("A B C D E F", "ABCDEF", [(0, 11)]),
        ("A B C D E F", "ABC DEF", [(0, 11)]),
        ("A B C D E F G", "ABCDEFG", []),
        ("AB CD EFG", "AB CD EFG", [(0, 9)]),
        ("ABCDEFG", "AB CD EFG", []),
        ("A\u2003B A B AB", "A\u2003B", [(0, 3), (4, 7), (8, 10)]),  # blanks of a value go, whichever they are
        ("A\u200bB A \u200b B AB", "A\u200bB", [(0, 3), (4, 9)]),  # a zero width space is one of its characters
        ("\U0001f600 a", "\U0001f600a", [(0, 3)]),
        ("x7 8", "x78", []),
        ("x 7 8", "x78", [(0, 5)]),
        ("x 7 89", "x78", []),
        ("17 x", "7x", []),
        ("7 x", "7x", [(0, 3)]),
    ],
)
def test_names_have_one_gap_throughout_and_two_to_six_characters(text, value, expected):
    assert spans(text, "PERSON", value) == expected


@pytest.mark.parametrize("type_", ["RRN", "CARD", "EMAIL", "PHONE", "DOB", "ACCOUNT", "ADDRESS", "REL"])
def test_only_persons_have_spaced_variants(type_):
    assert spans("솔 가 람", type_, "솔가람") == []


@pytest.mark.parametrize("type_", ["RRN", "DOB", "PHONE", "ACCOUNT", "CARD"])
def test_five_types_have_numbers_with_other_separators(type_):
    assert occurrences("012-345 012345", type_, "012345") == [(0, 7, False), (8, 14, True)]


@pytest.mark.parametrize("type_", ["EMAIL", "ADDRESS", "REL", "PERSON"])
def test_the_others_have_not(type_):
    assert spans("0123-4567 01234567", type_, "01234567") == [(10, 18)]


def test_separators_stand_in_texts_and_in_values():
    assert len(W + SIGNS + INVISIBLE) == len(set(W + SIGNS + INVISIBLE)) == 68
    for separator in W + SIGNS + INVISIBLE:
        assert spans(f"012{separator}345", "PHONE", "012345") == [(0, 7)], hex(ord(separator))
        assert spans("012345", "PHONE", f"012{separator}345") == [(0, 6)], hex(ord(separator))


def test_other_characters_do_not():
    for other in ",:;~_*#'|=<>x가\u2022\u30fc\u30fb\u2044\u0660\u02d7\xb2\u2460\x00\u180e\u2061\u206a":
        assert spans(f"012{other}345", "PHONE", "012345") == [], hex(ord(other))
        assert spans("012345 012-345", "PHONE", f"012{other}345") == [], hex(ord(other))


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("01-23-45", "012345", [(0, 8)]),
        ("01-234", "01234", []),  # five digits
        ("01234", "01-234", []),
        ("0 1 2 3 4 5", "012345", [(0, 11)]),
        ("012---345", "012345", [(0, 9)]),
        ("012----345", "012345", []),
        ("012 - 345", "012345", [(0, 9)]),
        ("012\r\n-345", "012345", [(0, 9)]),
        ("012\r\n- 345", "012345", []),
        ("(012) 345", "(012) 345", [(0, 9), (1, 9)]),
        ("(012)345", "(012) 345", [(1, 8)]),
        ("+012345", "+01 2345", [(1, 7)]),
        ("-012345-", "012345", [(1, 7)]),
        ("９０１２３４", "901234", [(0, 6)]),
        ("901234", "９０１２３４", [(0, 6)]),
        ("９0-１2 ３4", "90-12-34", [(0, 8)]),
        ("\u0660\u0661\u0662\u0663\u0664\u0665", "012345", []),
        ("012345", "\u0660\u0661\u0662\u0663\u0664\u0665", []),
        ("\u0660\u0661\u0662\u0663\u0664\u0665", "\u0660\u0661\u0662\u0663\u0664\u0665", [(0, 6)]),
        ("\u0660\u0661\u0662-\u0663\u0664\u0665", "\u0660\u0661\u0662\u0663\u0664\u0665", []),
        ("9012-345", "012345", []),
        ("012-3456", "012345", []),
        ("9-012-345-6", "012345", [(2, 9)]),
        ("012-345\u0666", "012345", []),
        ("\u0666012-345", "012345", []),
        ("x012-345y", "012345", [(1, 8)]),
        ("1-1-1-1-1-1-1", "111111", [(0, 11), (2, 13)]),
        ("1a111111", "111111", [(2, 8)]),
        ("5a012345", "012345", [(2, 8)]),
        ("5,012-345,6", "012345", [(2, 9)]),
        ("11-1111 1", "111111", [(0, 7)]),  # from the second 1 on it would begin between digits
        ("012345", "012345년", []),
        ("alias012-345", "alias012345", []),
        ("012-34*", "01234*", []),
        ("012345 012-345", "012-345", [(0, 6), (7, 14)]),
        ("012345012345", "012345", []),
        ("012345 012345", "012345012345", [(0, 13)]),
        ("a\U0001f600012-345", "012345", [(2, 9)]),
    ],
)
def test_numbers(text, value, expected):
    assert spans(text, "ACCOUNT", value) == expected


def test_literal_is_said_of_the_spelling_that_was_given():
    assert occurrences("012-345 012345", "PHONE", "012-345") == [(0, 7, True), (8, 14, False)]
    assert occurrences("(02) 345-678", "PHONE", "(02) 345-678") == [(0, 12, True), (1, 12, False)]
    assert occurrences("솔 가", "PERSON", "솔가") == [(0, 3, False)]
    assert occurrences("솔 가", "PERSON", "솔 가") == [(0, 3, True)]


def test_a_source_answers_many_questions_alike():
    source = Source("솔 가 012-345")
    for _ in range(2):
        assert stands_in(source, "PERSON", "솔가")
        assert stands_in(source, "DOB", "012345")
        assert not stands_in(source, "DOB", "12345")
        assert not stands_in(source, "REL", "솔가")
