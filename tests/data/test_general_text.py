"""General text from files of several kinds, piece by piece."""

from __future__ import annotations

import json

import pytest

from sm_ops.core.errors import InputError
from sm_ops.data import general

pytestmark = pytest.mark.unit


def written(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def rows(*texts):
    return "".join(json.dumps({"text": text, "url": "somewhere"}) + "\n" for text in texts)


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    written(tmp_path, b_jsonl=rows("two", "three"), a_txt="one\r\n", sub__d_py="x = 1\n", c_md="left out")
    written(tmp_path / ".hidden", e_txt="left out")
    pq.write_table(pa.table({"text": ["four"], "other": [1]}), tmp_path / "c.parquet")
    found = list(general.pieces(tmp_path))
    assert found == [("one\r\n", True), ("two", True), ("three", True), ("four", True), ("x = 1\n", True)]


def test_a_long_file_comes_in_pieces_of_one_document(tmp_path, monkeypatch):
    monkeypatch.setattr(general, "PIECE", 10)
    text = "".join(f"line {number} é\n" for number in range(9)) + "z" * 35
    written(tmp_path, long_txt=text)
    found = list(general.pieces(tmp_path / "long.txt"))
    assert "".join(piece for piece, _ in found) == text
    assert [begins for _, begins in found] == [True] + [False] * (len(found) - 1)
    assert max(len(piece) for piece, _ in found) <= 20


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a_jsonl", rows("fine", None), "a.jsonl, line 2, field text: a string is needed"),
        ("a_jsonl", '{"messages": []}\n', "line 1, field text"),
        ("a_jsonl", "{\n", "not valid JSON"),
        ("a_txt", b"caf\xe9", "is not UTF-8"),
        ("a_parquet", b"PAR1", "not a whole, readable Parquet file"),
        ("a_md", "words", "holds no general text; give files of .jsonl"),
        ("a_txt", "", "holds no general text"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, name, content, words):
    written(tmp_path, **{name: content})
    with pytest.raises(InputError, match=words):
        list(general.pieces(tmp_path))


def test_a_path_that_is_not_there_or_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match="which is not there"):
        list(general.pieces(tmp_path / "absent.txt"))
    written(tmp_path, a_csv="a,b\n")
    with pytest.raises(InputError, match="extension that general text is not read from"):
        list(general.pieces(tmp_path / "a.csv"))
