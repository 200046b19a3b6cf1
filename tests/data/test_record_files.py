"""Record files: what is read, what is refused and how the refusal reads, and round trips."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.dataset import Canary
from sm_ops.data.records import FORMAT, read_records, write_records
from sm_ops.steps._splits import read_canaries, write_canaries

pytestmark = pytest.mark.unit

SECRET = "Zq7SECRETq7Z"
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
CHAT = [{"role": "user", "content": SECRET}]

RECORDS = [
    Record("a", text="x = 'né\u2028\x0c𝔘'\r\n", group="g", spans=(Span(5, 7, "name"),), meta={"b": 1, "a": [None]}),
    Record("b", messages=(Message("user", "hi"), Message("assistant", "yo\n")), spans=(Span(0, 2, "l", 1),)),
    Record("c", text=""),
]


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_records(path))
    assert caught.value.__cause__ is None
    assert SECRET not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def row(**changes: object) -> dict[str, object]:
    return {"id": "r", "text": SECRET, **changes}


def span(**changes: object) -> dict[str, object]:
    return row(spans=[{"start": 0, "end": 2, "label": "l", **changes}])


REFUSED_ROWS = {
    "not an object": ([SECRET], "not a JSON object"),
    "missing id": ({"text": SECRET}, "field id: is missing"),
    "empty id": (row(id=""), "field id: is empty"),
    "id is a number": (row(id=7), "field id: must be a string, not an integer"),
    "neither": ({"id": SECRET}, "field text/messages: neither"),
    "both": (row(messages=CHAT), "field text/messages: both"),
    "text is a list": (row(text=[SECRET]), "field text: must be a string, not a list"),
    "no messages": ({"id": "r", "messages": []}, "field messages: must be a list of at least one"),
    "message is text": ({"id": "r", "messages": [SECRET]}, "field messages[0]: must be an object, not a string"),
    "no role": ({"id": "r", "messages": [{"content": SECRET}]}, "field messages[0].role: is missing"),
    "role of a wrong type": ({"id": "r", "messages": [{"role": 1, "content": SECRET}]}, "messages[0].role: must be"),
    "unknown role": ({"id": "r", "messages": [{"role": SECRET, "content": ""}]}, "messages[0].role: is none of system"),
    "content is null": ({"id": "r", "messages": [{"role": "user"}]}, "field messages[0].content: must be a string"),
    "group is a number": (row(group=3), "field group: must be a string, not an integer"),
    "empty group": (row(group=""), "field group: is empty"),
    "meta is text": (row(meta=SECRET), "field meta: must be an object, not a string"),
    "meta twice": (row(meta={"k": SECRET}, k=1), "field meta: has a key that also stands at the top level"),
    "unknown format": (row(format=SECRET), "field format: names a version"),
    "spans is an object": (row(spans={"start": 0}), "field spans: must be a list, not an object"),
    "span is a list": (row(spans=[[0, 1]]), "field spans[0]: must be an object, not a list"),
    "span without start": (row(spans=[{"end": 1, "label": "l"}]), "field spans[0].start: is missing"),
    "start is true": (span(start=True), "field spans[0].start: must be an integer, not a boolean"),
    "end is 1.0": (span(end=1.0), "field spans[0].end: must be an integer, not a decimal number"),
    "end is text": (span(end=SECRET), "field spans[0].end: must be an integer, not a string"),
    "empty span": (span(start=2), "field spans[0]: start must be less than end"),
    "backward span": (span(start=3), "field spans[0]: start must be less than end"),
    "negative span": (span(start=-1), "field spans[0]: is not within its text, which has 12 code points"),
    "span past the end": (span(end=13), "field spans[0]: is not within its text, which has 12 code points"),
    "no label": (row(spans=[{"start": 0, "end": 1}]), "field spans[0].label: is missing"),
    "message in a text": (span(message=0), "field spans[0].message: names a message, but the record is a text"),
    "chat span without message": (
        {"id": "r", "messages": CHAT, "spans": [{"start": 0, "end": 1, "label": "l"}]},
        "field spans[0].message: is missing",
    ),
    "message out of range": (
        {"id": "r", "messages": CHAT, "spans": [{"start": 0, "end": 1, "label": "l", "message": 1}]},
        "field spans[0].message: is not within 0 to 0",
    ),
    "negative message": (
        {"id": "r", "messages": CHAT, "spans": [{"start": 0, "end": 1, "label": "l", "message": -1}]},
        "field spans[0].message: is not within 0 to 0",
    ),
    "chat span past its message": (
        {"id": "r", "messages": CHAT, "spans": [{"start": 0, "end": 13, "label": "l", "message": 0}]},
        "field spans[0]: is not within its message, which has 12 code points",
    ),
    "surrogate in text": (row(text=f"{SECRET}\udc00"), "field text: holds a lone surrogate"),
    "surrogate in a message": (
        {"id": "r", "messages": [{"role": "user", "content": f"{SECRET}\ud800"}]}, "field messages: holds a lone"
    ),
    "surrogate in another key": (row(**{f"{SECRET}\ud800": 1}), "(another top-level key): holds a lone surrogate"),
    "surrogate in meta": (row(meta={"k": [f"{SECRET}\udfff"]}), "field meta: holds a lone surrogate"),
}


@pytest.mark.parametrize(("bad", "reason"), REFUSED_ROWS.values(), ids=REFUSED_ROWS)
def test_bad_rows_are_refused_by_line_field_and_reason(tmp_path, bad, reason):
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"id": "first", "text": ""}) + "\n" + json.dumps(bad) + "\n", encoding="utf-8")
    message = refused(path)
    assert reason in message
    assert "line 2" in message


REFUSED_BYTES = {
    "not JSON": (f'{{"id": "{SECRET}', "line 1: not valid JSON at column 8"),
    "NaN": (f'{{"id": "{SECRET}", "text": "", "k": NaN}}', "line 1: not valid JSON"),
    "endless number": (f'{{"id": "{SECRET}", "k": {"9" * 5000}}}', "line 1: not valid JSON"),
    "endless nesting": ("[" * 100_000, "line 1: not valid JSON"),
    "duplicate id": (
        f'{{"id": "{SECRET}", "text": ""}}\n\n{{"id": "{SECRET}", "text": ""}}\n',
        "line 3, field id: is the same as in line 1",
    ),
    "not UTF-8": (b'{"id": "a", "text": ""}\n{"id": "b\xff' + SECRET.encode(), "line 2: byte 33 of the file"),
    "byte order mark": (b'\xef\xbb\xbf{"id": "a", "text": ""}\n', "begins with a byte order mark"),
    "UTF-16": (f'{{"id": "{SECRET}", "text": ""}}'.encode("utf-16"), "begins with a byte order mark"),
    "empty": (b"", "holds no records"),
    "blank": (b" \n\n", "holds no records"),
}


@pytest.mark.parametrize(("content", "reason"), REFUSED_BYTES.values(), ids=REFUSED_BYTES)
def test_bad_files_are_refused(tmp_path, content, reason):
    path = tmp_path / "r.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert reason in refused(path)


def test_bad_paths_are_refused_before_the_first_record_is_asked_for(tmp_path):
    folder = tmp_path / "folder.jsonl"
    folder.mkdir()
    for path, reason in [
        (tmp_path / "none.jsonl", "does not exist"),
        (folder, "is a directory"),
        (tmp_path / "r.json", "is .jsonl."),
        (tmp_path / "r.parket", "is .parquet."),
        (tmp_path / "r.csv", ".jsonl, .parquet"),
    ]:
        with pytest.raises(InputError, match=r"records-") as caught:
            read_records(path)
        assert reason in str(caught.value)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_round_trip(tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    write_records(path, RECORDS)
    first = path.read_bytes()
    assert list(read_records(path)) == RECORDS
    write_records(path, read_records(path) if suffix == ".parquet" else list(read_records(path)))
    assert path.read_bytes() == first


def test_jsonl_is_canonical_and_plain(tmp_path):
    path = tmp_path / "r.jsonl"
    write_records(path, [Record("b", text="é\n", meta={"z": 1, "a": 2}), Record("a", text="")])
    assert path.read_bytes().decode() == (
        '{"id": "b", "meta": {"a": 2, "z": 1}, "text": "é\\n"}\n{"id": "a", "text": ""}\n'
    )


def test_aliases_nulls_other_keys_and_the_optional_version(tmp_path):
    path = tmp_path / "r.jsonl"
    line = {"id": "a", "text": "abc", "messages": None, "group": None, "format": FORMAT, "split": "open",
            "spans": [{"start": 0, "end": 1, "type": "T", "message": None},
                      {"start": 0, "end": 3, "label": "L", "type": "T", "extra": 1}], "meta": {"k": [1]}}
    path.write_text(json.dumps(line) + "\r\n  \n", newline="")
    assert list(read_records(path)) == [
        Record("a", text="abc", spans=(Span(0, 1, "T"), Span(0, 3, "L")), meta={"split": "open", "k": [1]})
    ]


def test_offsets_count_code_points_of_the_stored_string(tmp_path):
    path = tmp_path / "r.jsonl"
    text = "e\u0301𝔘key"  # a combining accent stays apart, and the letter beyond the BMP is one code point
    path.write_text(json.dumps({"id": "a", "text": text, "spans": [{"start": 3, "end": 6, "label": "k"}]}))
    (record,) = read_records(path)
    assert record.text == text
    assert [record.content[start:end] for start, end, _ in record.content_spans] == ["key"]


def test_foreign_parquet_is_read_and_bad_rows_are_refused_by_index(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import datetime

    import pyarrow.parquet as pq

    path = tmp_path / "r.parquet"
    rows = [
        {"id": "a", "text": "xy", "when": datetime.date(2020, 1, 2), "score": float("nan"), "spans": None},
        {"id": "b", "text": "xy", "when": None, "score": 0.5, "spans": [{"start": 0, "end": 1, "type": "T"}]},
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert list(read_records(path)) == [
        Record("a", text="xy", meta={"when": "2020-01-02", "score": None}),
        Record("b", text="xy", spans=(Span(0, 1, "T"),), meta={"when": None, "score": 0.5}),
    ]
    for bad, reason in [
        ([{"id": "a", "text": SECRET}, {"id": "a", "text": SECRET}], "row 1, field id: is the same as in row 0"),
        ([{"id": "a", "text": SECRET, "spans": [{"start": 0.0, "end": 1.0}]}], "must be an integer"),
        ([{"id": "a", "text": SECRET, "messages": CHAT}], "row 0, field text/messages"),
    ]:
        pq.write_table(pa.Table.from_pylist(bad), path)
        assert reason in refused(path)


def test_canaries_are_lines_whatever_their_values_hold(tmp_path):
    """A value may hold what Python takes for the end of a line and JSON does not."""
    ends = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
    written = [Canary(f"name-{i}", "name", None, Sensitive(f"a{end}b")) for i, end in enumerate(ends)]
    write_canaries(tmp_path / "canaries.jsonl", written)
    found = [(c.id, c.value.reveal()) for c in read_canaries(tmp_path / "canaries.jsonl")]
    assert found == [(f"name-{i}", f"a{end}b") for i, end in enumerate(ends)]


def test_broken_empty_and_newer_parquet_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "r.parquet"
    write_records(path, RECORDS)
    whole = path.read_bytes()
    for content in (b"", whole[:100], SECRET.encode()):
        path.write_bytes(content)
        assert "not a whole, readable Parquet file" in refused(path)
    write_records(path, [])
    assert "holds no records" in refused(path)
    table = pa.table({"id": ["a"], "text": [SECRET]})
    pq.write_table(table.replace_schema_metadata({"sm_ops_format": "records/2"}), path)
    assert "field format: names a version" in refused(path)


def test_parquet_carries_the_version(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    write_records(tmp_path / "r.parquet", RECORDS)
    assert pq.read_schema(tmp_path / "r.parquet").metadata[b"sm_ops_format"] == b"records/1"


def test_import_needs_no_pyarrow_and_no_numpy():
    import subprocess

    code = (
        "import sys, sm_ops.data.records, sm_ops.data.audit, sm_ops.data.datasets.code_pii, sm_ops.data.datasets.own;"
        "print([m for m in ('pyarrow', 'numpy', 'pydantic', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SHARED_FILES = {
    "creddata_subset/creddata_open.jsonl": 747,
    "credsweeper_samples/credsweeper_samples_open.jsonl": 74,
    "kiji_synthetic/kiji_open.jsonl": 374,
    "klue_ner_dev/klue_ner_open.jsonl": 2473,
    "panorama_posts/panorama_open.jsonl": 69,
    "presidio_synthetic/presidio_open.jsonl": 1774,
    "public_code_py/cpython_lib_3_11_7.jsonl": 292,
    "public_text_en/public_text_en.jsonl": 205,
    "public_text_ko/chatbot_mit.jsonl": 11823,
    "public_text_ko/klue_sentences_ccbysa.jsonl": 5038,
    "tab_echr_144/tab_open.jsonl": 73,
}


@pytest.mark.parametrize("name", SHARED_FILES)
def test_real_files_are_read_whole(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"no {path}")
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    records = list(read_records(path))
    assert len(records) == len(rows) == SHARED_FILES[name]
    for record, raw in zip(records, rows, strict=True):
        assert record.text == raw["text"]
        assert record.meta == {k: v for k, v in raw.items() if k not in ("id", "text", "spans")}
        assert [(s.start, s.end) for s in record.spans] == [(s["start"], s["end"]) for s in raw.get("spans", [])]


@pytest.mark.parametrize(
    ("name", "field"),
    [("humaneval/humaneval.jsonl", "id"), ("hallmark_citations/hallmark_open.jsonl", "text/messages")],
)
def test_real_files_of_another_kind_are_refused(name, field):
    if not (SHARED / name).exists():
        pytest.skip(f"no {SHARED / name}")
    assert f"line 1, field {field}" in refused(SHARED / name)
