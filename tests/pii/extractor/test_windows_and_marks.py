"""Windows cover a document and keep its rows; marks are written around values, and only where values may stand."""

from __future__ import annotations

import random

import pytest

from sm_ops.core.errors import InputError
from sm_ops.pii import accept, parse_rows
from sm_ops.pii.extractor import marking, tiny
from sm_ops.pii.extractor.marking import Marking
from sm_ops.pii.extractor.windows import Piece, in_windows, labelled, windows
from sm_ops.pii.rows import without_thinking
from sm_ops.scoring.tokenize import encode

pytestmark = pytest.mark.unit

TEXT = "성명 김가상, 800101-3123456\r\n생일은 800101이다. 가상은 김가상이다. Call Ann at 010-1234-5678 now"
ROWS = "PERSON\t김가상\nRRN\t800101-3123456\nDOB\t800101\nPERSON\t가상\nPERSON\tAnn\nPHONE\t010-1234-5678"
DOCUMENT = {"id": "a", "source_text": TEXT, "target_tsv": ROWS}
MARKED = (
    "성명 <PERSON>김가상</>, <RRN>800101-3123456</>\r\n생일은 <DOB>800101</>이다. <PERSON>가상</>은 "
    "<PERSON>김가상</>이다. Call <PERSON>Ann</> at <PHONE>010-1234-5678</> now"
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return tiny.train_tokenizer([TEXT] * 3, 600, tmp_path_factory.mktemp("tokenizer"))


def test_windows_end_where_lines_and_sentences_do():
    cut = [TEXT[start:end] for start, end in windows(TEXT, 30)]
    assert cut == [
        "성명 김가상, 800101-3123456\r\n",
        "생일은 800101이다. 가상은 김가상이다.",
        " Call Ann at 010-1234-5678 now",
    ]
    assert [TEXT[start:end] for start, end in windows(TEXT, 25)][-2:] == [" Call Ann at", " 010-1234-5678 now"]
    assert windows(TEXT, None) == [(0, len(TEXT))]
    assert windows("", 30) == windows("", None) == [(0, 0)]


@pytest.mark.parametrize("seed", range(20))
def test_windows_cover_the_text_and_are_short_where_blanks_are(seed):
    chance = random.Random(seed)
    text = "".join(chance.choice(["가", "나다", " ", ". ", "\n", "\r\n", "1,000", "a"]) for _ in range(120))
    found = windows(text, 20)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(end - start <= 20 or " " not in text[start + 1 : start + 19] for start, end in found)


def test_a_place_in_a_longer_value_counts_only_where_there_is_no_other():
    whole = labelled(DOCUMENT)
    assert whole.rows == ROWS
    assert [TEXT[start:end] for start, end, _ in whole.places] == [
        "김가상", "800101-3123456", "800101", "가상", "김가상", "Ann", "010-1234-5678",
    ]  # fmt: skip
    nested = labelled({"source_text": "80-1", "target_tsv": "DOB\t80\nRRN\t80-1"})
    assert nested.places == ((0, 4, "RRN"), (0, 2, "DOB"))
    assert marking.marked(nested) == "<RRN>80-1</>"


def test_the_windows_rows_are_the_documents():
    rows = [piece.rows.split("\n") for piece in in_windows(DOCUMENT, 30)]
    assert list(dict.fromkeys(row for own in rows for row in own if row)) == ROWS.split("\n")
    assert Piece("ab cd", ((0, 2, "REL"), (3, 5, "REL"))).part(1, 5) == Piece("b cd", ((2, 4, "REL"),))
    assert Piece("ab cd", ((0, 2, "REL"), (3, 5, "REL"))).part(0, 4) == Piece("ab c", ((0, 2, "REL"),))


def test_thinking_goes_and_the_rows_stay():
    whole = labelled(DOCUMENT)
    assert marking.marked(whole) == MARKED
    assert marking.answer(whole, "none") == ROWS
    answer = marking.answer(whole, "marked")
    assert answer == f"<think>{MARKED}</think>{ROWS}"
    assert without_thinking(answer) == ROWS


def write(marking_, wish) -> list[int]:
    """The tokens that are chosen when token `wish(n)` is the likeliest by far at step n."""
    import torch

    written = []
    for step in range(300):
        logits = torch.zeros(2000)
        logits[wish(step)] = 50.0
        token = marking_.choose(logits)
        if token is None:
            return written
        written.append(token)
    raise AssertionError("never ends")


def test_what_the_model_wants_is_written_and_becomes_rows(tokenizer):
    wanted = encode(tokenizer, "<think>" + MARKED)[0]
    own = Marking(TEXT, tokenizer)
    assert write(own, lambda step: wanted[min(step, len(wanted) - 1)]) == wanted
    assert list(dict.fromkeys("\t".join(row) for row in own.rows)) == ROWS.split("\n")


def test_a_model_that_wants_something_else_copies(tokenizer):
    own = Marking(TEXT, tokenizer)
    assert tokenizer.decode(write(own, lambda step: tokenizer.eos_token_id)) == "<think>" + TEXT
    assert own.rows == []


def test_no_mark_means_all_that_is_no_mark(tokenizer):
    """The next token of the text is unlikely, a mark is likely, and something else is likelier still."""
    import torch

    own = Marking("가상", tokenizer)
    mark = tokenizer.convert_tokens_to_ids("<PERSON>")
    logits = torch.zeros(2000)
    logits[mark], logits[tokenizer.eos_token_id] = 49.0, 50.0
    assert mark not in [own.choose(logits) for _ in range(2)]
    logits[mark] = 51.0
    assert Marking("가상", tokenizer).choose(logits) != mark  # the block begins
    again = Marking("가상", tokenizer)
    assert [again.choose(logits) for _ in range(2)][1] == mark


@pytest.mark.parametrize("seed", range(30))
def test_whatever_it_wants_the_rows_are_accepted_and_the_text_is_copied(seed, tokenizer):
    chance = random.Random(seed)
    parts = ["김", "가상", "1", "23", "-", " ", "\n", "🙂", "a@b", "</>", "9" * 13]
    source = "".join(chance.choice(parts) for _ in range(20))
    marks = tokenizer.convert_tokens_to_ids([*marking.OPEN.values(), marking.CLOSE, marking.CLOSE])
    own = Marking(source, tokenizer)
    written = write(own, lambda step: chance.choice([*marks, tokenizer.eos_token_id]))
    text, copied = tokenizer.decode(written).removeprefix("<think>"), source
    for mark in (*marking.OPEN.values(), marking.CLOSE):
        text, copied = text.replace(mark, ""), copied.replace(mark, "")
    assert text == copied
    answer = "\n".join("\t".join(row) for row in own.rows)
    assert parse_rows(answer) == own.rows
    assert len(accept(source, answer)) == len(set(own.rows))


def test_a_tokenizer_without_marks_is_refused(plain):
    with pytest.raises(InputError, match="no-marks"):
        marking.require_marks(plain)
