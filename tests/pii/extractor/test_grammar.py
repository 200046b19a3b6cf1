"""What the grammar lets through, against the rules by brute force: every stretch of a text, and random answers."""

from __future__ import annotations

import random
import re

import pytest

from sm_ops.core.errors import InputError
from sm_ops.pii import TYPES, accept, parse_rows
from sm_ops.pii.extractor import tiny
from sm_ops.pii.extractor.grammar import Rows, State, Vocabulary
from sm_ops.scoring.tokenize import encode

pytestmark = pytest.mark.unit

SOURCES = (
    "김가상님 010-1234 (12)",
    " 가 나\t다\r\n1２3,45 a1b",
    "９９0 0 é🙂\u200b남궁민\n\nPERSON\t9",
    "1",
    "   \n",
)


@pytest.fixture(scope="module")
def merging(tmp_path_factory):
    """A tokenizer with merges, tokens of half a syllable, and one for each type."""
    return tiny.train_tokenizer([*SOURCES, "김가상 010-1234 abc"] * 5, 700, tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module", params=["merging", "plain"])
def tokenizer(request):
    return request.getfixturevalue(request.param)


def follows(rows: Rows, tokenizer, text: str) -> State | None:
    """The state behind a text, token for token, or None where the grammar refuses one."""
    state = State()
    for token in encode(tokenizer, text)[0]:
        if token not in rows.allowed(state):
            return None
        state = rows.after(state, token)
    return state


def fits(source: str, value: str, start: int) -> bool:
    """R2, R5 and R11 by hand."""
    end = start + len(value)
    outer = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u2028\u3000\u200b\u2060\ufeff"
    inside = not any(character in value for character in "\t\r\n") and value.count("(") <= value.count(")")
    inside &= value[-1] != ")" or (value.count("(") == value.count(")") and not re.fullmatch(r"\([^)]*\)", value))
    trimmed = value == value.strip(outer)
    left = not (start and source[start - 1].isdecimal() and value[:1].isdecimal())
    right = not (end < len(source) and source[end].isdecimal() and value[-1:].isdecimal())
    return bool(value) and inside and trimmed and left and right


@pytest.mark.parametrize("source", SOURCES)
def test_exactly_the_stretches_that_the_rules_allow_can_be_written(source, tokenizer):
    rows = Rows(source, Vocabulary(tokenizer))
    stretches = {source[a:b] for a in range(len(source)) for b in range(a + 1, len(source) + 1)}
    for value in sorted(stretches):
        places = [place for place in range(len(source)) if source.startswith(value, place)]
        state = follows(rows, tokenizer, f"ADDRESS\t{value}")
        written = state is not None and rows.may_end(state)
        assert written == any(fits(source, value, place) for place in places), value


NUMBERS = "a 010-1234-5678 b 4111-1111-1111-1112(c) 800101-3123456, 000-12-345678-1 a@b.kr 1985. 3. 12."


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PHONE", "010-1234-5678", True),
        ("PHONE", "010-1234", False),
        ("PHONE", "1234-5678", False),
        ("PHONE", "010-1234-5678 ", False),
        ("PHONE", "5678 b", False),
        ("PHONE", "4111-1111-1111-1112", False),
        ("CARD", "4111-1111-1111-1112", True),
        ("CARD", "4111-1111-1111", False),
        ("CARD", "010-1234-5678", False),
        ("RRN", "800101-3123456", True),
        ("RRN", "800101-312345", False),
        ("RRN", "800101", False),
        ("ACCOUNT", "000-12-345678-1", True),
        ("ACCOUNT", "000-12-345678", False),
        ("DOB", "1985. 3. 12.", True),
        ("DOB", "1985", True),
        ("DOB", "800101-312345", False),
        ("PERSON", "1985", False),
        ("PERSON", "(c)", False),
        ("PERSON", "c)", False),
        ("ADDRESS", "(c) 800101-3123456, 000-12-345678-1 a@b.kr 1985", True),
        ("ADDRESS", "b 4111-1111-1111-1112(c", False),
        ("ADDRESS", "b 4111-1111-1111-1112(c)", True),
        ("EMAIL", "a@b.kr", True),
        ("EMAIL", "a@b.kr 1985", False),
        ("EMAIL", "010-1234-5678", False),
    ],
)
def test_numbers_have_the_digits_of_their_type_and_are_not_cut(name, value, allowed, tokenizer):
    rows = Rows(NUMBERS, Vocabulary(tokenizer))
    state = follows(rows, tokenizer, f"{name}\t{value}")
    assert (state is not None and rows.may_end(state)) == allowed


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_chosen_the_answer_is_accepted_row_by_row(seed, tokenizer):
    chance = random.Random(seed)
    parts = ["김", "가상", "1", "23", "-", " ", "\n", "\r\n", "🙂", "a", "\t"]
    source = "".join(chance.choice(parts) for _ in range(25))
    rows, state = Rows(source, Vocabulary(tokenizer)), State()
    for _ in range(60):
        allowed = rows.allowed(state)
        if not allowed or (rows.may_end(state) and chance.random() < 0.1):
            break
        state = rows.after(state, chance.choice(allowed))
    written = rows.ended(state).rows
    answer = "\n".join("\t".join(row) for row in written)
    assert parse_rows(answer) == list(written) == accept(source, answer)


def test_a_pair_is_written_once_and_a_type_is_one_of_nine(tokenizer):
    rows = Rows("가상 가상", Vocabulary(tokenizer))
    twice, other = (follows(rows, tokenizer, f"REL\t가상\n{name}\t가상") for name in ("REL", "PERSON"))
    assert not rows.may_end(twice)
    assert rows.may_end(other)
    for name in TYPES:
        named = follows(rows, tokenizer, f"{name}\t가상")
        assert (named is not None) == (name in {"PERSON", "ADDRESS", "REL", "DOB"})
    for text in ("NAME\t가상", "REL가상", "\t가상", "REL\t\t가상", "\nREL\t가상", "REL\t가상\n\n", "REL\t가나"):
        assert follows(rows, tokenizer, text) is None


def test_nothing_may_be_written_and_no_row_may_be_left_half(tokenizer):
    rows = Rows("가상 1", Vocabulary(tokenizer))
    assert rows.may_end(State())
    for text in ("REL", "REL\t", "REL\t가상 ", "REL\t가상\n"):
        state = follows(rows, tokenizer, text)
        assert state is not None
        assert not rows.may_end(state)
    assert rows.ended(follows(rows, tokenizer, "REL\t가상\nRE")).rows == (("REL", "가상"),)


def test_no_control_token_is_ever_allowed(merging):
    rows = Rows("<|end|> <|endoftext|>", Vocabulary(merging))
    special = set(merging.all_special_ids)
    state = State()
    for token in encode(merging, "REL\t<|end|>")[0]:
        assert not special & set(rows.allowed(state))
        state = rows.after(state, token)
    assert rows.may_end(state)


def test_a_tokenizer_of_another_kind_is_refused(plain):
    from tokenizers import decoders
    from transformers import PreTrainedTokenizerFast

    other = PreTrainedTokenizerFast(tokenizer_object=plain.backend_tokenizer)
    other.backend_tokenizer.decoder = decoders.Metaspace()
    with pytest.raises(InputError, match="tokenizer-not-byte-level"):
        Vocabulary(other)
