"""Variations keep what they say: each marked stretch is a value of its type, and no value is left unmarked."""

from __future__ import annotations

import pytest

from sm_ops.pii import accept, parse_rows
from sm_ops.pii.extractor.varying import Variations
from sm_ops.pii.extractor.windows import Piece, labelled

pytestmark = pytest.mark.unit

DOCUMENTS = (
    ("성명 김가상, 연락처 010-1234-5678 입니다. 주문을 확인하세요.", "PERSON\t김가상\nPHONE\t010-1234-5678"),
    ("Dear Taylor Sample, the parcel has arrived.", "PERSON\tTaylor Sample"),
    ("예금주 박예시\n계좌: 000-12-345678", "PERSON\t박예시\nACCOUNT\t000-12-345678"),
    ("오늘은 회의가 없습니다", ""),
    ("", ""),
)
PIECES = [labelled({"source_text": text, "target_tsv": rows}) for text, rows in DOCUMENTS]
VALUES = {row for _, rows in DOCUMENTS for row in rows.split("\n") if row}


def drawn(seed: int, number: int = 200) -> list[Piece]:
    variations = Variations(PIECES, seed)
    return [variations.draw(piece) for _ in range(number // len(PIECES)) for piece in PIECES]


def test_every_marked_stretch_is_a_value_of_its_type_and_every_value_is_marked():
    for piece in drawn(0):
        stretches = [f"{name}\t{piece.text[start:end]}" for start, end, name in piece.places]
        assert set(stretches) <= VALUES
        for row in VALUES:
            assert stretches.count(row) == piece.text.count(row.split("\t")[1])
        assert accept(piece.text, piece.rows) == parse_rows(piece.rows)
        inside = {place for start, end, _ in piece.places for place in range(start, end)}
        digits = {place for place, character in enumerate(piece.text) if character.isdigit()}
        assert digits <= inside  # only values have digits here, and none is cut


def test_they_differ_from_the_texts_and_from_each_other_and_are_not_longer():
    found = drawn(0)
    assert len({piece.text for piece in found} - {piece.text for piece in PIECES}) > 60
    assert max(len(piece.text) for piece in found) <= max(len(piece.text) for piece in PIECES)


def test_the_seed_draws_them():
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_texts_without_words_or_values_vary_too():
    for texts in ([""], ["1 2 3"], ["", "\n"]):
        variations = Variations([Piece(text) for text in texts], 0)
        assert all(variations.draw(Piece(text)).places == () for text in texts for _ in range(20))
