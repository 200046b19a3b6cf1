"""`sm-ops pii mask` and `restore`: what comes out, what comes back, and what is left nowhere."""

from __future__ import annotations

import json
import os
import random
import stat
import unicodedata

import pytest
from command_line import contents, mappings, pii, read_rows, sm_ops, write_rows

from sm_ops.core.errors import InputError
from sm_ops.pii import corpus, mask
from sm_ops.pii.mapping_file import writing_mappings
from sm_ops.vault import Vault

pytestmark = pytest.mark.unit

KNOWN = "PERSON\t김가상\nPHONE\t010-0000-1234\nEMAIL\tgasang@example.com\nADDRESS\t가상시 견본구 시험로 12\n"
VALUES = [line.split("\t")[1] for line in KNOWN.splitlines()]
TEXTS = [
    "김가상 고객님, 010-0000-1234로 연락 주세요.",
    unicodedata.normalize("NFD", "담당 김가상, 가상시 견본구 시험로 12"),
    "줄 끝\r\n김 가 상\r\n01000001234\r\n",
    "😀김가상😀\u2028\u0085\x00 끝",
    "[PERSON_1] 김가상 [PERSON_3] \\1 \\g<0>",
    "전각 ０１０-００００-１２３４, عربي gasang@example.com",
    "",
    "아무것도 없음",
]


@pytest.fixture(autouse=True)
def _vault():
    Vault().init()


@pytest.fixture
def known(tmp_path):
    path = tmp_path / "known.tsv"
    path.write_text(KNOWN)
    return path


def records(texts=TEXTS):
    return [{"id": f"r{number}", "text": text} for number, text in enumerate(texts)]


# ---- there and back ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_records_come_back_in_their_nfc_form(suffix, known, tmp_path):
    given = write_rows(tmp_path / f"in{suffix}", records())
    masked, back = tmp_path / f"masked{suffix}", tmp_path / f"back{suffix}"
    done = pii("mask", given, "--known-values", known, "--out", masked)
    assert done.out == f"{masked}\n"
    assert f"next: sm-ops pii restore {masked} --vault masked" in done.err.splitlines()[-1]
    rows = read_rows(masked)
    assert [row["id"] for row in rows] == [f"r{number}" for number in range(len(TEXTS))]
    assert rows[0]["text"] == "[PERSON_1] 고객님, [PHONE_1]로 연락 주세요."
    assert [(s["start"], s["end"], s["label"]) for s in rows[0]["spans"]] == [(0, 10, "PERSON"), (16, 25, "PHONE")]
    assert rows[4]["text"] == "[PERSON_1] [PERSON_2] [PERSON_3] \\1 \\g<0>"
    pii("restore", masked, "--vault", "masked", "--out", back)
    assert [row["text"] for row in read_rows(back)] == [unicodedata.normalize("NFC", text) for text in TEXTS]
    assert all(set(row) == {"id", "text"} for row in read_rows(back))


PLAIN = [
    "첫 문단 김가상\r\n둘째 줄 010-0000-1234\r\n\r\n \t\r\n다음 문단 김가상",
    "\n\n  \n김가상\n\n\n\nEnd.\n",
    "김가상",
    "no values at all\n\nreally\n",
    unicodedata.normalize("NFD", "가상시 견본구 시험로 12\n\n김가상\n"),
    "\x00김가상\r\r010-0000-1234\n\n\u2028\n\n",
    "\n\n",
    "김\n가\n상\n\n김\n\n가상\n",
]


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_comes_back_byte_by_byte(text, known, tmp_path):
    given, masked, back = tmp_path / "in.txt", tmp_path / "masked.txt", tmp_path / "back.txt"
    given.write_bytes(text.encode())
    pii("mask", given, "--known-values", known, "--out", masked)
    assert not any(value.encode() in masked.read_bytes() for value in VALUES)
    pii("restore", masked, "--vault", "masked", "--out", back)
    assert back.read_bytes() == unicodedata.normalize("NFC", text).encode()


def test_a_paragraph_of_plain_text_is_a_record(known, tmp_path):
    given, masked = tmp_path / "in.txt", tmp_path / "masked.txt"
    given.write_bytes("김가상\n010-0000-1234\n\n\n김 가 상 김가상\n".encode())
    pii("mask", given, "--known-values", known, "--out", masked)
    assert masked.read_text() == "[PERSON_1]\n[PHONE_1]\n\n\n[PERSON_1] [PERSON_2]\n"
    assert mappings("masked") == {
        "paragraph-0": {"[PERSON_1]": "김가상", "[PHONE_1]": "010-0000-1234"},
        "paragraph-1": {"[PERSON_1]": "김 가 상", "[PERSON_2]": "김가상"},
    }


CHAT = {
    "id": "chat",
    "messages": [
        {"role": "user", "content": "김가상입니다 010-0000-"},
        {"role": "assistant", "content": "1234? [PHONE_1] 김가상 님", "name": "김가상", "tool_calls": ["김가상"]},
        {"role": "user", "content": "네, 010-0000-1234"},
    ],
}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_chat_has_one_mapping_and_nothing_is_found_over_its_messages(suffix, known, tmp_path):
    given = write_rows(tmp_path / f"in{suffix}", [CHAT])
    masked, back = tmp_path / f"masked{suffix}", tmp_path / f"back{suffix}"
    pii("mask", given, "--known-values", known, "--out", masked)
    (row,) = read_rows(masked)
    assert row["messages"] == [
        {"role": "user", "content": "[PERSON_1]입니다 010-0000-"},
        {"role": "assistant", "content": "1234? [PHONE_1] [PERSON_1] 님"},
        {"role": "user", "content": "네, [PHONE_2]"},
    ]
    assert [(s["message"], s["start"], s["end"], s["label"]) for s in row["spans"]] == [
        (0, 0, 10, "PERSON"),
        (1, 16, 26, "PERSON"),
        (2, 3, 12, "PHONE"),
    ]
    assert mappings("masked") == {"chat": {"[PERSON_1]": "김가상", "[PHONE_2]": "010-0000-1234"}}
    pii("restore", masked, "--vault", "masked", "--out", back)
    (row,) = read_rows(back)
    assert [message["content"] for message in row["messages"]] == [each["content"] for each in CHAT["messages"]]


def test_ids_are_any_json_strings(known, tmp_path):
    ids = ["", " ", "\ud800", "a\nb", "한글", "x" * 5000]
    given = tmp_path / "in.jsonl"
    given.write_text("".join(json.dumps({"id": each, "text": "김가상"}) + "\n" for each in ids))
    masked, back = tmp_path / "masked.jsonl", tmp_path / "back.jsonl"
    pii("mask", given, "--known-values", known, "--out", masked)
    pii("restore", masked, "--vault", "masked", "--out", back)
    assert read_rows(back) == [{"id": each, "text": "김가상"} for each in ids]


def test_a_single_line_may_be_huge(known, tmp_path):
    text = "김가상 " + "가나다 " * 200_000 + "010-0000-1234"
    given = write_rows(tmp_path / "in.jsonl", [{"id": "1", "text": text}])
    masked, back = tmp_path / "masked.jsonl", tmp_path / "back.jsonl"
    pii("mask", given, "--known-values", known, "--out", masked)
    pii("restore", masked, "--vault", "masked", "--out", back)
    assert read_rows(back)[0]["text"] == text


# ---- what is masked ------------------------------------------------------------------------------------


def predictions(path, rows):
    return write_rows(path, [{"id": key, "prediction": text, "parse_success": True} for key, text in rows.items()])


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_predictions_are_joined_by_id_in_any_order(suffix, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records(["김가상 이예시", "박견본 김가상", "이예시"]))
    rows = predictions(
        tmp_path / f"rows{suffix}",
        {
            "r1": "<think>PERSON\t김가상</think>PERSON\t박견본\nPERSON\t없는이\nprose",
            "else": "PERSON\t이예시",
            "r0": "PERSON\t김가상\n",
        },
    )
    masked = tmp_path / "masked.jsonl"
    done = pii("mask", given, "--predictions", rows, "--allow-missing", "--out", masked)
    assert [row["text"] for row in read_rows(masked)] == ["[PERSON_1] 이예시", "[PERSON_1] 김가상", "이예시"]
    assert "2 of 3 predictions belong to a record of the file" in done.err
    assert "masked by what else was named alone: 1 record\n" in done.err
    assert "2 places in 2 of 3 records" in done.err
    assert "1 of 3 predicted rows stand nowhere in their record" in done.err


@pytest.mark.parametrize("command", ["mask", "scrub"])
def test_records_without_a_prediction_do_not_pass_unseen(command, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records(["김비밀", "김비밀", "김비밀"]))
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    words = [command, given, "--predictions", rows, "--out", out]
    predictions(rows, {"r0": "PERSON\t김비밀"})
    said = refused(tmp_path, *words)
    assert "has 2 of 3 records without a prediction, the first is record 1" in said
    assert "--allow-missing" in said
    for nobody in ({"else": "PERSON\t김비밀"}, {}):
        predictions(rows, nobody)
        assert "has a row for no record" in refused(tmp_path, *words, "--allow-missing")
        assert "has a row for no record" in refused(tmp_path, *words, "--detector", "regex")
    other = predictions(tmp_path / "other.jsonl", {"r1": "", "r2": "PERSON\t김비밀"})
    predictions(rows, {"r0": "PERSON\t김비밀"})
    pii(*words, "--predictions", other)
    assert ["김비밀" in row["text"] for row in read_rows(out)] == [False, True, False]


def test_a_source_may_be_named_several_times(known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records(["김가상 이예시 a@example.com 010-0000-1234"]))
    more = write_rows(tmp_path / "more.jsonl", [{"type": "PERSON", "value": "이예시"}])
    more.write_bytes(b"\xef\xbb\xbf" + more.read_bytes() + b"\n")
    words = ["--known-values", known, "--known-values", more, "--detector", "shapes", "--detector", "regex"]
    pii("mask", given, *words, "--out", tmp_path / "masked.jsonl")
    assert read_rows(tmp_path / "masked.jsonl")[0]["text"] == "[PERSON_1] [PERSON_2] [EMAIL_1] [PHONE_1]"


def test_sources_are_united_by_the_rules(tmp_path):
    """Known values and predictions together give what one call with all candidates gives."""
    draw = random.Random(5)
    parts = ["김가상", "김", "가", "상", " ", "010", "0000", "1234", "-", "이예시", "Ann", "[PERSON_1]", "\n"]
    values = ["김가상", "김", "가상", "010-0000", "0000 1234", "01000001234", "이예시", "Ann", "An", "상 010"]
    types = ["PERSON", "REL", "PHONE", "ACCOUNT", "ADDRESS"]
    texts = ["".join(draw.choices(parts, k=draw.randint(0, 25))) for _ in range(120)]
    known = [(draw.choice(types), value) for value in values[::2]]
    own = [[(draw.choice(types), draw.choice(values)) for _ in range(draw.randint(0, 4))] for _ in texts]
    (tmp_path / "known.tsv").write_text("".join(f"{type_}\t{value}\n" for type_, value in known))
    rows = {f"r{n}": "\n".join(f"{type_}\t{value}" for type_, value in pairs) for n, pairs in enumerate(own)}
    given = write_rows(tmp_path / "in.jsonl", records(texts))
    predicted = predictions(tmp_path / "rows.jsonl", rows)
    masked = tmp_path / "masked.jsonl"
    pii("mask", given, "--predictions", predicted, "--known-values", tmp_path / "known.tsv", "--out", masked)
    expected = [mask(text, [*known, *pairs]) for text, pairs in zip(texts, own, strict=True)]
    assert [row["text"] for row in read_rows(masked)] == [each.text for each in expected]
    assert list(mappings("masked").values()) == [each.mapping for each in expected]


def test_values_of_the_vault(tmp_path):
    Vault().add_values("customers", [("PERSON", "김가상"), ("PHONE", "010-0000-1234")])
    given = write_rows(tmp_path / "in.jsonl", records(["김 가 상 01000001234"]))
    masked = tmp_path / "masked.jsonl"
    done = pii("mask", given, "--known-values", "vault:customers", "--vault", "customers", "--out", masked)
    assert read_rows(masked)[0]["text"] == "[PERSON_1] [PHONE_1]"
    assert "masked by vault:customers: 2 places in 1 of 1 record" in done.err
    assert set(Vault().values("customers")) >= {("PERSON", "김가상"), ("PERSON", "김 가 상")}


def test_a_detector(tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records(["mail gasang@example.com은 확인", "성명: 김가상"]))
    masked = tmp_path / "masked.jsonl"
    pii("mask", given, "--detector", "regex", "--out", masked)
    assert [row["text"] for row in read_rows(masked)] == ["mail [EMAIL_1]은 확인", "성명: [PERSON_1]"]


def labelled(text, *spans, **more):
    return {"id": "1", "text": text, "spans": [{"start": a, "end": b, "label": name} for a, b, name in spans], **more}


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (labelled("김가상과 김 가 상", (0, 3, "PERSON")), "[PERSON_1]과 [PERSON_2]"),
        (labelled("a12345b", (2, 5, "ACCOUNT")), "a1[ACCOUNT_1]5b"),  # no candidate matches inside digits (R11)
        (labelled("a12345b 김가상", (2, 5, "ACCOUNT"), (8, 11, "PERSON")), "a1[ACCOUNT_1]5b [PERSON_1]"),
        (labelled("Alpha Beta Gamma", (0, 10, "PERSON"), (6, 16, "ADDRESS")), "[PERSON_1] [ADDRESS_1]"),
        (labelled("(김가상 ) ", (1, 5, "PERSON")), "([PERSON_1] ) "),
        (labelled("x a@example.com", (2, 15, "EMAIL_ADDRESS")), "x [EMAIL_1]"),
        (labelled("x 김가상", (2, 5, "person")), "x [PERSON_1]"),
        ({"id": "1", "text": "김가상", "spans": [{"start": 0, "end": 3, "type": "PERSON"}]}, "[PERSON_1]"),
    ],
)
def test_own_labels_are_covered_whatever_the_rules_leave(record, text, tmp_path):
    given, masked = write_rows(tmp_path / "in.jsonl", [record]), tmp_path / "masked.jsonl"
    done = pii("mask", given, "--out", masked)
    assert read_rows(masked)[0]["text"] == text
    assert "masked by the records' own labels" in done.err


def test_labels_count_in_the_text_as_it_is_stored(tmp_path):
    text = unicodedata.normalize("NFD", "각하 김가상 é")
    start = text.index(unicodedata.normalize("NFD", "김"))
    record = labelled(text, (start, start + 1, "REL"), (len(text) - 1, len(text), "ADDRESS"))
    given, masked = write_rows(tmp_path / "in.jsonl", [record]), tmp_path / "masked.jsonl"
    pii("mask", given, "--out", masked)
    assert read_rows(masked)[0]["text"] == "각하 [REL_1]가상 [ADDRESS_1]"


def test_documents_of_the_generator(tmp_path):
    record = {"id": "ko-1", "lang": "ko", "partition": "test", "source_text": "김가상 010-0000-1234"}
    record |= {
        "entities": [{"type": "PERSON", "value": "김가상"}],
        "target_tsv": "PERSON\t김가상",
        "raw_text": "김가상",
    }
    given, masked = write_rows(tmp_path / "in.jsonl", [record]), tmp_path / "masked.jsonl"
    pii("mask", given, "--out", masked)
    spans = [{"start": 0, "end": 10, "label": "PERSON"}]
    expected = {"id": "ko-1", "lang": "ko", "source_text": "[PERSON_1] 010-0000-1234", "spans": spans}
    assert read_rows(masked) == [expected]


def test_other_labels_are_named_or_left(tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [labelled("김가상 어제", (0, 3, "PS"), (4, 6, "DT"))])
    masked = tmp_path / "masked.jsonl"
    pii("mask", given, "--label", "PS=PERSON", "--label", "DT=-", "--out", masked)
    assert read_rows(masked)[0]["text"] == "[PERSON_1] 어제"


# ---- what else is in the result ------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_only_keys_that_are_safe_or_asked_for_stay(suffix, known, tmp_path):
    record = {"id": "1", "text": "김가상", "lang": "ko", "group": "g", "raw": "김가상", "meta": {"x": "김가상"}, "n": 7}
    given, masked = write_rows(tmp_path / f"in{suffix}", [record]), tmp_path / f"masked{suffix}"
    pii("mask", given, "--known-values", known, "--keep", "n", "--out", masked)
    (row,) = read_rows(masked)
    assert set(row) == {"id", "text", "lang", "group", "n", "spans"}
    assert row["n"] == 7


@pytest.mark.parametrize(
    "field",
    [{"id": unicodedata.normalize("NFD", "김가상")}, {"group": "mail:gasang@example.com"}, {"more": [{"a": "김가상"}]}],
)
def test_a_kept_key_that_holds_a_masked_value_is_refused(field, known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [{"id": "1", "text": "김가상 gasang@example.com", **field}])
    done = sm_ops("pii", "mask", given, "--known-values", known, "--keep", "more", "--out", tmp_path / "masked.jsonl")
    assert done.code == 2
    assert f"in.jsonl, line 1, record 0: {next(iter(field))!r} holds a value that is masked" in done.err
    assert not (tmp_path / "masked.jsonl").exists()
    assert Vault().names() == []


@pytest.mark.parametrize("command", ["mask", "scrub"])
@pytest.mark.parametrize(
    "field",
    [
        {"id": "cust-김가상"},
        {"id": "01000001234"},
        {"id": "GASANG@Example.com"},
        {"group": "고객 김 가 상"},
        {"id": "x 이예시"},  # a known value that its own text does not hold
        {"more": [["김가상 님께"]]},
        {"more": {"고객 김가상": 1}},
        {"more": 19850312},
        {"more 김가상": 1},
    ],
)
def test_kept_keys_are_looked_through_by_the_matcher(command, field, known, tmp_path):
    known.write_text(f"{KNOWN}DOB\t1985-03-12\nPERSON\t이예시\n")
    text = "김가상 010-0000-1234 gasang@example.com 1985-03-12"
    given = write_rows(tmp_path / "in.jsonl", [{"id": "1", "text": text, **field}])
    keep = [word for key in field if key.startswith("more") for word in ("--keep", key)]
    said = refused(tmp_path, command, given, "--known-values", known, *keep, "--out", tmp_path / "out.jsonl")
    assert "in.jsonl, line 1, record 0: " in said
    assert "holds a value that is masked" in said or "the name of a kept key" in said
    assert "김가상" not in said


def test_ids_that_tell_nothing_pass(tmp_path):
    (tmp_path / "in.txt").write_text("a 0 graph\n")
    (tmp_path / "known.tsv").write_text("PERSON\tgraph\nACCOUNT\t0\n")
    pii("mask", tmp_path / "in.txt", "--known-values", tmp_path / "known.tsv", "--out", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == "a [ACCOUNT_1] [PERSON_1]\n"


def test_values_stand_in_the_vault_and_nowhere_else(known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records())
    folder = tmp_path / "results"
    done = pii("mask", given, "--known-values", known, "--out", folder / "masked.jsonl")
    again = sm_ops("pii", "mask", given, "--known-values", known, "--out", folder / "masked.jsonl")
    everywhere = b"".join([*contents(folder).values(), *contents(tmp_path / "home").values()])
    everywhere += (done.out + done.err + again.out + again.err).encode()
    for value in {*VALUES, "김 가 상", "01000001234", "０１０-００００-１２３４"}:
        assert value.encode() not in everywhere
        assert json.dumps(value).encode()[1:-1] not in everywhere


# ---- both or none --------------------------------------------------------------------------------------


@pytest.fixture
def masked_once(known, tmp_path):
    given, masked = write_rows(tmp_path / "in.jsonl", records(["김가상"])), tmp_path / "masked.jsonl"
    pii("mask", given, "--known-values", known, "--out", masked)
    return masked


def test_mappings_are_not_lost_by_a_second_run(masked_once, known, tmp_path):
    other = write_rows(tmp_path / "other.jsonl", records(["010-0000-1234"]))
    before = masked_once.read_bytes(), mappings("masked")
    done = sm_ops("pii", "mask", other, "--known-values", known, "--out", masked_once)
    assert done.code == 2
    assert "--replace" in done.err
    assert (masked_once.read_bytes(), mappings("masked")) == before
    pii("mask", other, "--known-values", known, "--out", masked_once, "--replace")
    assert read_rows(masked_once)[0]["text"] == "[PHONE_1]"
    assert mappings("masked") == {"r0": {"[PHONE_1]": "010-0000-1234"}}


def test_a_failure_on_the_way_changes_nothing(masked_once, tmp_path):
    rows = [{"id": "a", "source_text": "이예시", "entities": [{"type": "PERSON", "value": "이예시"}]}]
    rows += [{"id": "b", "source_text": "x", "entities": [{"type": "PERSON", "value": "박견본"}]}]
    given = write_rows(tmp_path / "given.jsonl", rows)
    before = contents(tmp_path)
    done = sm_ops("pii", "mask", given, "--out", masked_once, "--replace")
    assert done.code == 2
    assert "given.jsonl, line 2, record 1 entity 0: the value does not occur" in done.err
    assert "박견본" not in done.err
    after = contents(tmp_path)
    assert {name for name in after if "vault" not in name} == {name for name in before if "vault" not in name}
    assert mappings("masked") == {"r0": {"[PERSON_1]": "김가상"}}
    assert masked_once.read_bytes() == before["masked.jsonl"]


def test_no_vault_is_said_before_work_begins(known, tmp_path, monkeypatch):
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path / "other"))
    given = write_rows(tmp_path / "in.jsonl", records())
    done = sm_ops("pii", "mask", given, "--known-values", known, "--out", tmp_path / "masked.jsonl")
    assert done.code == 2
    assert "sm-ops vault init" in done.err
    assert not (tmp_path / "masked.jsonl").exists()


# ---- a mapping file ------------------------------------------------------------------------------------

WORDS = "the mapping is the secret\n"


def test_a_mapping_file_after_the_words_are_typed(known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records())
    masked, mapping, back = tmp_path / "masked.jsonl", tmp_path / "deep" / "mapping.jsonl", tmp_path / "back.jsonl"
    done = pii("mask", given, "--known-values", known, "--out", masked, "--mapping", mapping, typed=WORDS)
    assert "whoever reads it undoes the masking" in done.err
    assert stat.S_IMODE(mapping.stat().st_mode) == 0o600
    assert Vault().names() == []
    pii("restore", masked, "--mapping", mapping, "--out", back)
    assert [row["text"] for row in read_rows(back)] == [unicodedata.normalize("NFC", text) for text in TEXTS]


@pytest.mark.parametrize("typed", ["", "yes\n", "the mapping\n"])
def test_no_mapping_file_without_the_words(typed, known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records())
    before = contents(tmp_path)
    arguments = ["pii", "mask", given, "--known-values", known, "--out", tmp_path / "m.jsonl"]
    done = sm_ops(*arguments, "--mapping", tmp_path / "mapping.jsonl", typed=typed)
    assert done.code == 2
    assert "nothing was written" in done.err
    assert contents(tmp_path) == before


def test_scripts_answer_with_an_option_and_lose_no_mapping(known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records(["김가상"]))
    mapping = tmp_path / "mapping.jsonl"
    arguments = ["mask", given, "--known-values", known, "--out", tmp_path / "m.jsonl", "--mapping", mapping]
    arguments.append("--i-understand-the-mapping-is-the-secret")
    pii(*arguments)
    (row,) = read_rows(mapping)
    assert len(row.pop("digest")) == 32
    assert row == {"format": "pii-mapping/1", "id": "r0", "mapping": {"[PERSON_1]": "김가상"}}
    assert sm_ops("pii", *arguments).code == 2
    pii(*arguments, "--replace")


def test_files_that_cannot_be_had_again_are_not_overwritten(known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records(["김가상"]))
    mapping, values = tmp_path / "mapping.jsonl", tmp_path / "values.jsonl"
    write_rows(values, [{"type": "PERSON", "value": "김가상"}])
    rows = predictions(tmp_path / "rows.jsonl", {"r0": ""})
    typed = "--i-understand-the-mapping-is-the-secret"
    pii("mask", given, "--known-values", known, "--out", tmp_path / "m.jsonl", "--mapping", mapping, typed)
    sources = ["--known-values", values, "--predictions", rows]
    for words in (
        ["scrub", given, "--detector", "regex", "--out", mapping],
        ["mask", given, "--detector", "regex", "--out", mapping],
        *(
            ["mask", given, *sources, "--out", tmp_path / "o.jsonl", "--mapping", place, typed, "--replace"]
            for place in (values, rows, tmp_path / "m.jsonl")
        ),
    ):
        refused(tmp_path, *words)


def test_of_two_first_runs_at_once_the_later_is_refused(tmp_path):
    path = tmp_path / "mapping.jsonl"
    writing = writing_mappings(path, False)
    writing.__enter__().add("a", {}, "")
    path.write_text("of the other run")
    with pytest.raises(InputError, match="is there"):
        writing.__exit__(None, None, None)
    assert contents(tmp_path) | {"mapping.jsonl": b"of the other run"} == contents(tmp_path)
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".jsonl"] == ["mapping.jsonl"]


def test_two_first_runs_of_one_dataset(known, tmp_path, monkeypatch):
    """The second begins and ends while the first is reading its records."""
    given, out = write_rows(tmp_path / "in.jsonl", records(["김가상"])), tmp_path / "masked.jsonl"
    inner = []
    masking = corpus.mask_file

    def slow(*words):
        monkeypatch.setattr(corpus, "mask_file", masking)
        inner.append(pii("mask", given, "--known-values", known, "--vault", "v", "--out", tmp_path / "b.jsonl"))
        masking(*words)

    monkeypatch.setattr(corpus, "mask_file", slow)
    done = sm_ops("pii", "mask", given, "--known-values", known, "--vault", "v", "--out", out)
    assert (done.code, len(inner), out.exists()) == (2, 1, False)
    pii("restore", tmp_path / "b.jsonl", "--vault", "v", "--out", tmp_path / "back.jsonl")


def test_a_mapping_file_that_others_may_read_is_refused(known, tmp_path):
    given, mapping = write_rows(tmp_path / "in.jsonl", records(["김가상"])), tmp_path / "mapping.jsonl"
    pii("mask", given, "--known-values", known, "--out", tmp_path / "m.jsonl", "--mapping", mapping, typed=WORDS)
    mapping.chmod(0o644)
    said = refused(tmp_path, "restore", tmp_path / "m.jsonl", "--mapping", mapping, "--out", tmp_path / "back.jsonl")
    assert "chmod 600" in said


def test_a_mapping_file_of_another_format_is_refused(known, tmp_path):
    masked = write_rows(tmp_path / "masked.jsonl", records(["[PERSON_1]"]))
    for older in ({"format": "pii-mapping/0"}, {}):
        mapping = write_rows(tmp_path / "mapping.jsonl", [{**older, "id": "r0", "mapping": {"[PERSON_1]": "김가상"}}])
        done = sm_ops("pii", "restore", masked, "--mapping", mapping, "--out", tmp_path / "back.jsonl")
        assert done.code == 2
        assert "mapping.jsonl, line 1, record 0: it is no mapping of format pii-mapping/1" in done.err
    assert not (tmp_path / "back.jsonl").exists()


# ---- restoring -----------------------------------------------------------------------------------------


@pytest.fixture
def masked_three(known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", records(["김가상", "010-0000-1234 [PERSON_1]", "김 가 상 김가상"]))
    masked = tmp_path / "masked.jsonl"
    pii("mask", given, "--known-values", known, "--out", masked)
    return masked


def test_any_records_in_any_order(masked_three, tmp_path):
    rows = read_rows(masked_three)
    chosen = write_rows(tmp_path / "some.jsonl", [rows[2], rows[0], rows[2] | {"more": 1}])
    back = tmp_path / "back.jsonl"
    pii("restore", chosen, "--vault", "masked", "--out", back)
    expected = [("r2", "김 가 상 김가상"), ("r0", "김가상"), ("r2", "김 가 상 김가상")]
    assert [(row["id"], row["text"]) for row in read_rows(back)] == expected
    assert read_rows(back)[2]["more"] == 1
    assert stat.S_IMODE(back.stat().st_mode) == 0o600


def test_tokens_that_do_not_fit_are_counted(masked_three, tmp_path):
    rows = read_rows(masked_three)
    rows[0]["text"] = "only [EMAIL_1] and [PERSON_01] [PERSON_1"
    changed, back = write_rows(tmp_path / "changed.jsonl", rows), tmp_path / "back.jsonl"
    done = pii("restore", changed, "--vault", "masked", "--out", back, "--edited")
    assert read_rows(back)[0]["text"] == "only [EMAIL_1] and [PERSON_01] [PERSON_1"
    assert "restored, to the NFC form of the text: 3 tokens in 3 records\n" in done.err
    assert "(markers of the source?): 2 tokens\n" in done.err  # [EMAIL_1], and the marker of the second record
    assert "in the mappings and no longer in the texts: 1 token\n" in done.err
    assert "masked with other mappings: 1 record\n" in done.err


@pytest.mark.parametrize("kind", ["vault", "mapping"])
def test_mappings_of_another_file_are_refused(kind, known, tmp_path):
    """Equal ids; and paragraphs in another order."""
    for suffix, texts in {".jsonl": ("김가상 씨", "김가상 님"), ".txt": ("김가상 씨\n\n님", "님\n\n김가상 씨")}.items():
        outs = []
        for number, text in enumerate(texts):
            given = tmp_path / f"in{suffix}"
            given.write_text(text) if suffix == ".txt" else write_rows(given, records([text]))
            name = f"{number}{suffix[1:]}"
            place = {"vault": name, "mapping": tmp_path / f"{name}.mapping.jsonl"}[kind]
            outs.append((tmp_path / f"{number}{suffix}", place))
            words = ["mask", given, "--known-values", known, "--out", outs[-1][0], f"--{kind}", place]
            pii(*words, typed=WORDS)
        words = ["restore", outs[0][0], f"--{kind}", outs[1][1], "--out", tmp_path / f"back{suffix}"]
        done = sm_ops("pii", *words)
        assert done.code == 2
        assert "record 0: its text is not the one that was masked with these mappings" in done.err
        assert "김가상" not in done.err
        assert not (tmp_path / f"back{suffix}").exists()
        pii(*words, "--edited")


def test_older_mappings_without_digests_are_taken_with_a_note(tmp_path):
    with Vault().writer("old") as writer:
        writer.add("r0", {"[PERSON_1]": "김가상"})
    masked = write_rows(tmp_path / "masked.jsonl", records(["[PERSON_1]"]))
    done = pii("restore", masked, "--vault", "old", "--out", tmp_path / "back.jsonl")
    assert "older mappings do not tell which text they were made for: 1 record\n" in done.err
    assert read_rows(tmp_path / "back.jsonl")[0]["text"] == "김가상"


def test_inserted_text_is_not_read_again(tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [labelled("[PERSON_2] \\1 a", (0, 10, "ADDRESS"), (11, 13, "PERSON"))])
    masked, back = tmp_path / "masked.jsonl", tmp_path / "back.jsonl"
    pii("mask", given, "--out", masked)
    pii("restore", masked, "--vault", "masked", "--out", back)
    assert read_rows(back)[0]["text"] == "[PERSON_2] \\1 a"


def test_an_unknown_record_is_told_by_its_place(masked_three, tmp_path):
    rows = [*read_rows(masked_three), {"id": "김가상", "text": "[PERSON_1]"}]
    changed = write_rows(tmp_path / "changed.jsonl", rows)
    done = sm_ops("pii", "restore", changed, "--vault", "masked", "--out", tmp_path / "back.jsonl")
    assert done.code == 2
    assert "changed.jsonl, line 4, record 3: no mapping has its id" in done.err
    assert "김가상" not in done.err
    assert not (tmp_path / "back.jsonl").exists()


def test_restoring_needs_the_key(masked_three, tmp_path):
    key = tmp_path / "home" / "vault.key"
    key.rename(tmp_path / "away")
    done = sm_ops("pii", "restore", masked_three, "--vault", "masked", "--out", tmp_path / "back.jsonl")
    assert (done.code, "no-key" in done.err) == (2, True)
    (tmp_path / "away").rename(key)
    Vault().shred("masked")
    done = sm_ops("pii", "restore", masked_three, "--vault", "masked", "--out", tmp_path / "back.jsonl")
    assert (done.code, "shredded" in done.err) == (2, True)
    assert not (tmp_path / "back.jsonl").exists()


def test_plain_text_of_other_paragraphs_is_refused(known, tmp_path):
    given, masked = tmp_path / "in.txt", tmp_path / "masked.txt"
    given.write_text("김가상\n\n김가상\n")
    pii("mask", given, "--known-values", known, "--out", masked)
    masked.write_text("[PERSON_1]\n")
    done = sm_ops("pii", "restore", masked, "--vault", "masked", "--out", tmp_path / "back.txt")
    assert done.code == 2
    assert "has 1 paragraphs, its mappings are of 2" in done.err


# ---- refusals ------------------------------------------------------------------------------------------

SECRET = "김비밀"
GOOD = json.dumps({"id": "a", "text": SECRET})
LINES = {
    "not JSON": ('{"id": "b", "text": "김비밀', "line 2: not valid JSON"),
    "no object": ('["김비밀"]', "line 2: the row is no JSON object"),
    "NaN": ('{"id": "b", "text": "김비밀", "x": NaN}', "line 2: not valid JSON, for NaN"),
    "a key twice": ('{"id": "b", "text": "x", "text": "김비밀"}', "line 2: not valid JSON, for a key stands twice"),
    "too deep": ('{"id": ' + 100_000 * "[", "line 2: its JSON is nested too deep"),
    "too many digits": ('{"id": "b", "text": "김비밀", "x": ' + 5_000 * "1" + "}", "line 2: its JSON has a number of"),
    "no id": ('{"text": "김비밀"}', "line 2, record 1: it has no text `id`"),
    "an id that is a number": ('{"id": 1, "text": "김비밀"}', "line 2, record 1: it has no text `id`"),
    "a repeated id": ('{"id": "a", "text": "x"}', "line 2, record 1: its id was given to an earlier record"),
    "no text": ('{"id": "b", "note": "김비밀"}', "line 2, record 1: it has 0 of text, source_text and messages"),
    "two texts": ('{"id": "b", "text": "김비밀", "source_text": "x"}', "record 1: it has 2 of text"),
    "a text that is none": ('{"id": "b", "text": ["김비밀"]}', "record 1: text is no string"),
    "half a surrogate pair": ('{"id": "b", "text": "김비밀\\ud800"}', "line 2, record 1: the text holds a lone"),
    "empty messages": ('{"id": "b", "messages": []}', "record 1: messages is no list of at least one"),
    "a message without text": ('{"id": "b", "messages": [{"role": "user"}]}', "messages[0] has no text content"),
    "a strange role": ('{"id": "b", "messages": [{"role": "김비밀", "content": ""}]}', "messages[0] has a role that"),
}
LABELS = {
    "no list": ({"spans": SECRET}, "record 0: spans is no list"),
    "no object": ({"spans": [SECRET]}, "record 0: spans[0] is no object"),
    "no label": ({"spans": [{"start": 0, "end": 1}]}, "spans[0] has no label"),
    "unknown label": (
        {"spans": [{"start": 0, "end": 1, "label": SECRET}]},
        "the label of spans[0] is none of the nine",
    ),
    "known label of no type": ({"spans": [{"start": 0, "end": 1, "label": "ORGANIZATION"}]}, "is none of the nine"),
    "turned round": ({"spans": [{"start": 2, "end": 1, "label": "PERSON"}]}, "spans[0] is no stretch of its text"),
    "empty": ({"spans": [{"start": 1, "end": 1, "label": "PERSON"}]}, "spans[0] is no stretch of its text"),
    "too long": ({"spans": [{"start": 0, "end": 99, "label": "PERSON"}]}, "which has 3 code points"),
    "true": ({"spans": [{"start": 0, "end": True, "label": "PERSON"}]}, "spans[0] is no stretch of its text"),
    "message of a text": ({"spans": [{"start": 0, "end": 1, "label": "REL", "message": 0}]}, "names a message, but"),
    "entities": ({"entities": {"a": SECRET}}, "record 0: entities is no list"),
    "entity without value": ({"entities": [{"type": "PERSON"}]}, "entities[0] has no text value"),
    "entity that is blank": ({"entities": [{"type": "PERSON", "value": " "}]}, "entities[0] has an empty value"),
    "entity elsewhere": (
        {"entities": [{"type": "PERSON", "value": "김비공개"}]},
        "record 0 entity 0: the value does not",
    ),
    "entity of no type": ({"entities": [{"type": "X", "value": "김비밀"}]}, "the label of entities[0] is none"),
}


def refused(tmp_path, *words) -> str:
    """The one sentence of a refusal that says no value and leaves everything as it was."""
    before = contents(tmp_path)
    done = sm_ops("pii", *words)
    assert done.code == 2, done.err
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert SECRET not in line
    after = contents(tmp_path)
    assert {name: after.get(name) for name in before} == before
    assert all("vault" in name for name in after.keys() - before.keys())
    assert Vault().names() == []
    return line


@pytest.mark.parametrize("command", ["mask", "scrub"])
@pytest.mark.parametrize("case", LINES)
def test_bad_lines(case, command, known, tmp_path):
    line, words = LINES[case]
    given = tmp_path / "in.jsonl"
    given.write_text(f"{GOOD}\n{line}\n")
    said = refused(tmp_path, command, given, "--known-values", known, "--out", tmp_path / "out.jsonl")
    assert f"{given}, " in said
    assert words in said


@pytest.mark.parametrize("case", LABELS)
def test_bad_labels(case, tmp_path):
    more, words = LABELS[case]
    given = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": SECRET, **more}])
    assert words in refused(tmp_path, "mask", given, "--out", tmp_path / "out.jsonl")


def test_a_blank_span(tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [labelled("a \u200b b", (1, 4, "PERSON"))])
    assert "spans[0] holds blanks only" in refused(tmp_path, "mask", given, "--out", tmp_path / "out.jsonl")


BYTES = {
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD.encode(), "begins with a byte order mark"),
    "UTF-16": (GOOD.encode("utf-16"), "begins with a byte order mark"),
    "Latin": (f'{GOOD}\n{{"id": "é'.encode("latin-1", "replace"), "line 2: byte"),
    "nothing": (b"", "holds no records"),
    "blank lines": (b"\n \n", "holds no records"),
}


@pytest.mark.parametrize("case", BYTES)
def test_bad_files(case, known, tmp_path):
    data, words = BYTES[case]
    given = tmp_path / "in.jsonl"
    given.write_bytes(data)
    assert words in refused(tmp_path, "mask", given, "--known-values", known, "--out", tmp_path / "out.jsonl")
    if case != "blank lines":  # which are a paragraph
        text = given.rename(tmp_path / "in.txt")
        assert words.replace("line 2", "line") in refused(
            tmp_path, "mask", text, "--known-values", known, "--out", tmp_path / "out.txt"
        ).replace("line 2", "line")


def test_what_is_no_parquet(known, tmp_path):
    given = tmp_path / "in.parquet"
    given.write_bytes(b"PAR1 " + SECRET.encode())
    words = refused(tmp_path, "mask", given, "--known-values", known, "--out", tmp_path / "out.parquet")
    assert "not a whole, readable Parquet file" in words


KNOWN_LINES = {
    "없음": "line 2: no row TYPE",
    "NAME\t김비밀": "line 2: no row TYPE",
    "PERSON\t \t": "line 2: no row TYPE",
}


@pytest.mark.parametrize("line", KNOWN_LINES)
def test_bad_known_values(line, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": SECRET}])
    known = tmp_path / "known.tsv"
    known.write_text(f"PERSON\t김가상\n{line}\n")
    words = refused(tmp_path, "mask", given, "--known-values", known, "--out", tmp_path / "out.jsonl")
    assert KNOWN_LINES[line] in words


PREDICTIONS = {
    "no id": ('{"prediction": "PERSON\\t김비밀"}', "line 1, prediction 0: it is no object with a text `id`"),
    "no prediction": ('{"id": "a", "prediction": ["김비밀"]}', "line 1, prediction 0: the prediction is missing"),
    "twice": ('{"id": "a", "prediction": ""}\n{"id": "a", "prediction": ""}', "line 2, record 1: its id was given"),
}


@pytest.mark.parametrize("case", PREDICTIONS)
def test_bad_predictions(case, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": SECRET}])
    rows = tmp_path / "rows.jsonl"
    line, words = PREDICTIONS[case]
    rows.write_text(line)
    assert words in refused(tmp_path, "mask", given, "--predictions", rows, "--out", tmp_path / "out.jsonl")


def test_bad_usage(known, tmp_path):
    given = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": "x"}])
    (tmp_path / "closed").write_text("")
    (tmp_path / "folder.jsonl").mkdir()
    out = tmp_path / "out.jsonl"
    for words, said in {
        (given,): "--out",
        (given, "--out", out): "has no labels; name what to look for",
        (given, "--known-values", known, "--out", given): "would be replaced",
        (given, "--known-values", known, "--out", known): "would be replaced",
        (given, "--known-values", known, "--out", tmp_path / "out.parquet"): "ends in .jsonl",
        (given, "--known-values", known, "--out", tmp_path / "closed" / "out.jsonl"): "cannot be written",
        (given, "--known-values", known, "--out", tmp_path / "folder.jsonl"): "cannot be written",
        (tmp_path / "in.csv", "--known-values", known, "--out", tmp_path / "out.csv"): "ends in .jsonl, .parquet, .txt",
        (tmp_path / "none.jsonl", "--known-values", known, "--out", out): "There is no file",
        (tmp_path / "folder.jsonl", "--known-values", known, "--out", out): "is a directory",
        (given, "--known-values", tmp_path / "none.tsv", "--out", out): "give vault:NAME or a file",
        (given, "--known-values", "vault:none", "--out", out): "no dataset 'none'",
        (given, "--predictions", tmp_path / "none.jsonl", "--out", out): "There is no file",
        (given, "--detector", "regexp", "--out", out): "the nearest is regex",
        (given, "--known-values", known, "--out", out, "--label", "PS=PERSON"): "add --labels",
        (given, "--out", out, "--label", "PS"): "write LABEL=TYPE",
        (given, "--out", out, "--label", "PS=NAME"): "write LABEL=TYPE",
        (given, "--out", out, "--label", "PS=PERSON", "--label", "PS=-"): "is given twice",
        (given, "--out", out, "--detector", ""): "detector",
        (given, "--out", out, "--known-values", ""): "give vault:NAME or a file",
        (given, "--known-values", known, "--out", out, "--vault", ""): "A dataset's name",
        (given, "--known-values", known, "--out", tmp_path / "가.jsonl"): "name them with --vault NAME",
        (given, "--known-values", known, "--out", out, "--vault", "../x"): "A dataset's name",
        (given, "--known-values", known, "--out", out, "--vault", "a", "--mapping", out): "choose one",
        (given, "--known-values", known, "--out", out, "--mapping", tmp_path / "m.txt"): "ends in .jsonl",
        (given, "--known-values", known, "--out", out, "--mapping", out): "would be replaced",
        (given, "--known-values", known, "--out", out, "--mapping", given, "--replace"): "choose another --mapping",
        (given, "--known-values", known, "--out", out, "--mapping", tmp_path / "folder.jsonl"): "place with --mapping",
    }.items():
        assert said in refused(tmp_path, "mask", *words), words
    for words, said in {
        (given, "--out", out): "--vault NAME",
        (given, "--out", out, "--vault", "none"): "no dataset 'none'",
        (given, "--out", given, "--vault", "none"): "would be replaced",
        (given, "--out", out, "--mapping", known): "ends in",
        (given, "--out", out, "--mapping", given): "no mapping of format",
    }.items():
        assert said in refused(tmp_path, "restore", *words), words


def test_a_read_only_folder_is_refused(known, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    given = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": "x"}])
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    assert "cannot be written" in refused(tmp_path, "mask", given, "--known-values", known, "--out", folder / "o.jsonl")
