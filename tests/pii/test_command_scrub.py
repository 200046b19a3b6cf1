"""`sm-ops pii scrub`: nothing of a value stays, and nothing leads back."""

from __future__ import annotations

import random
import re
import unicodedata

import pytest
from command_line import contents, pii, read_rows, sm_ops, write_rows

pytestmark = pytest.mark.unit


def scrubbed(tmp_path, record, *words, suffix=".jsonl"):
    given, out = write_rows(tmp_path / f"in{suffix}", [record]), tmp_path / f"out{suffix}"
    pii("scrub", given, *words, "--out", out)
    (row,) = read_rows(out)
    return row


def labelled(text, *spans):
    return {"id": "1", "text": text, "spans": [{"start": a, "end": b, "label": name} for a, b, name in spans]}


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (labelled("김가상과 김 가 상", (0, 3, "PERSON")), "[PERSON]과 [PERSON]"),
        (
            labelled("Alpha Beta Gamma", (0, 10, "PERSON"), (6, 16, "ADDRESS")),
            "[PERSON]",
        ),  # equally long: R17... PERSON
        (labelled("Alpha Beta Gamma", (0, 10, "PERSON"), (6, 16, "REL")), "[PERSON]"),
        (labelled("Alpha Beta Gammas", (0, 10, "PERSON"), (6, 17, "REL")), "[REL]"),
        (labelled("김가상이예시", (0, 3, "PERSON"), (3, 6, "PERSON")), "[PERSON]"),
        (labelled("김가상01012345678", (0, 3, "PERSON"), (3, 14, "PHONE")), "[PERSON][PHONE]"),
        (labelled("김가상 이예시", (0, 3, "PERSON"), (4, 7, "PERSON")), "[PERSON] [PERSON]"),
        (labelled("a12345b", (2, 5, "ACCOUNT")), "a1[ACCOUNT]5b"),
        (labelled("Acme and Acme", (0, 4, "ORGANIZATION")), "[ORGANIZATION] and [ORGANIZATION]"),
        (labelled("[PERSON_1] x", (11, 12, "PERSON")), "[PERSON_1] [PERSON]"),
        ({"id": "1", "text": "김가상 김", "entities": [{"type": "PERSON", "value": "김"}]}, "[PERSON]가상 [PERSON]"),
    ],
)
def test_labels(record, text, tmp_path):
    if "ADDRESS" in str(record) and "Gamma" in record["text"]:
        text = "[ADDRESS]"  # equally long parts: the stronger type
    assert scrubbed(tmp_path, record) == {"id": "1", "text": text}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_all_sources_together_in_a_chat(suffix, tmp_path):
    known = tmp_path / "known.tsv"
    known.write_text("PERSON\t김가상\n")
    rows = write_rows(tmp_path / "rows.jsonl", [{"id": "1", "prediction": "REL\t어머니", "parse_success": True}])
    chat = {"id": "1", "messages": [{"role": "user", "content": "김 가 상 어머니 a@example.com 0"}], "note": "김가상"}
    words = ["--known-values", known, "--predictions", rows, "--detector", "regex"]
    row = scrubbed(tmp_path, chat, *words, suffix=suffix)
    assert row == {"id": "1", "messages": [{"role": "user", "content": "[PERSON] [REL] [EMAIL] 0"}]}


def test_plain_text(tmp_path):
    (tmp_path / "in.txt").write_bytes(b"a@example.com\r\n\r\n\nb@example.com")
    pii("scrub", tmp_path / "in.txt", "--detector", "regex", "--out", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == b"[EMAIL]\r\n\r\n\n[EMAIL]"


def test_every_character_of_every_place_is_gone(tmp_path):
    """Against brute force: what stays are the characters that no span and no occurrence of its value covers."""
    draw = random.Random(3)
    records = []
    for number in range(150):
        text = "".join(draw.choices("가나다ab \n", k=draw.randint(1, 20)))
        places = [sorted(draw.sample(range(len(text) + 1), 2)) for _ in range(3)]
        spans = [(a, b, draw.choice(["REL", "ADDRESS"])) for a, b in places if text[a:b].strip()]
        records.append(labelled(text, *spans) | {"id": str(number)})
    given = write_rows(tmp_path / "in.jsonl", records)
    pii("scrub", given, "--out", tmp_path / "out.jsonl")
    for record, row in zip(records, read_rows(tmp_path / "out.jsonl"), strict=True):
        text, gone = record["text"], set()
        for span in record["spans"]:
            gone |= set(range(span["start"], span["end"]))
            value = text[span["start"] : span["end"]].strip()
            for match in re.finditer(f"(?={re.escape(value)})", text):
                gone |= set(range(match.start(), match.start() + len(value)))
        stays = "".join(character for place, character in enumerate(text) if place not in gone)
        assert re.sub(r"\[[A-Z]+\]", "", row["text"]) == stays


def test_nothing_leads_back(tmp_path):
    text = unicodedata.normalize("NFD", "김가상 ") + "a@example.com"
    given = write_rows(tmp_path / "in.jsonl", [{"id": "1", "text": text, "raw": text}])
    known = tmp_path / "known.tsv"
    known.write_text("PERSON\t김가상\n")
    before = contents(tmp_path)
    done = pii("scrub", given, "--known-values", known, "--detector", "regex", "--out", tmp_path / "out.jsonl")
    assert "scrubbed by the detector regex, " in done.err
    assert "EMAIL 1, PERSON 1 in 1 record\n" in done.err
    after = contents(tmp_path)
    assert after.keys() - before.keys() == {"out.jsonl"}  # no vault was asked, no mapping was made
    assert read_rows(tmp_path / "out.jsonl") == [{"id": "1", "text": "[PERSON] [EMAIL]"}]


def test_refusals(tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [labelled("김가상", (0, 3, "a b"))])
    for words, said in {
        (given,): "--out",
        (given, "--out", given): "would be replaced",
        (given, "--out", tmp_path / "out.jsonl"): "the label of spans[0] is none of the nine types",
    }.items():
        done = sm_ops("pii", "scrub", *words)
        assert (done.code, said in done.err) == (2, True), done.err
    given = write_rows(tmp_path / "in.jsonl", [labelled("김가상", (0, 3, "PERSON")) | {"group": "김가상"}])
    done = sm_ops("pii", "scrub", given, "--out", tmp_path / "out.jsonl")
    assert (done.code, "'group' holds a value" in done.err, "김가상" in done.err) == (2, True, False)
    assert set(contents(tmp_path)) == {"in.jsonl"}
