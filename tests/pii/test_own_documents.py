"""Own labelled records as documents: pairs, rows, languages, and refusals that show no value."""

from __future__ import annotations

import json
import unicodedata

import pytest

from sm_ops.core.errors import InputError
from sm_ops.pii.own import read_documents

pytestmark = pytest.mark.unit


def written(tmp_path, *rows):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def row(text, *spans, **others):
    places = [(text.index(part), text.index(part) + len(part), type_) for type_, part in spans]
    spans = [{"start": start, "end": end, "label": type_} for start, end, type_ in places]
    return {"id": "r", "text": text, "spans": spans, **others}


def test_spans_become_pairs_in_the_order_of_their_places(tmp_path):
    text = "Kim at a@example.com, Kim again, born 1985-03-12"
    path = written(tmp_path, row(text, ("DOB", "1985-03-12"), ("person", "Kim"), ("EMAIL", "a@example.com")))
    (document,) = read_documents(path)
    assert document["entities"] == [
        {"type": "PERSON", "value": "Kim"},
        {"type": "EMAIL", "value": "a@example.com"},
        {"type": "DOB", "value": "1985-03-12"},
    ]
    assert document["target_tsv"] == "PERSON\tKim\nEMAIL\ta@example.com\nDOB\t1985-03-12"
    assert (document["lang"], document["negative"]) == ("en", False)


def test_decomposed_text_is_composed_with_its_values(tmp_path):
    text = unicodedata.normalize("NFD", "고객 김가상 님")
    name = unicodedata.normalize("NFD", "김가상")
    (document,) = read_documents(written(tmp_path, row(text, ("PERSON", name))))
    assert document["source_text"] == "고객 김가상 님"
    assert document["entities"] == [{"type": "PERSON", "value": "김가상"}]
    assert document["lang"] == "ko"


def test_a_spelling_over_a_line_end_is_an_entity_but_no_row(tmp_path):
    path = written(tmp_path, row("at 1 Sample Road\nMoktown", ("ADDRESS", "1 Sample Road\nMoktown")))
    (document,) = read_documents(path)
    assert document["entities"] == [{"type": "ADDRESS", "value": "1 Sample Road\nMoktown"}]
    assert document["target_tsv"] == ""
    assert document["negative"] is False


def test_without_spans_it_is_a_negative_and_says_its_own_language(tmp_path):
    (document,) = read_documents(written(tmp_path, row("nothing", lang="ko")))
    assert (document["negative"], document["target_tsv"], document["lang"]) == (True, "", "ko")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (row("x Zebulon", ("ZebulonLabel", "Zebulon"), id="s"), "record 1, spans[0]: the label is none of RRN"),
        ({"id": "s", "messages": [{"role": "user", "content": "Zebulon"}]}, "record 1 is a chat"),
        (row("x Zebulon \u3000", ("PERSON", "\u3000"), id="s"), "record 1, spans[0] holds only blanks"),
    ],
)
def test_refusals_name_the_place_and_no_value(bad, words, tmp_path):
    with pytest.raises(InputError) as refused:
        read_documents(written(tmp_path, row("fine"), bad))
    assert words in str(refused.value)
    assert "Zebulon" not in str(refused.value)
