from __future__ import annotations

import json

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.scoring.backends import file
from sm_ops.scoring.scores import Source, read_scores, write_scores

pytestmark = pytest.mark.unit

SOURCE = Source("tiny", "abc", "def", "<|endoftext|>", "123", "float32")
ROW = {"id": "a", "token_ids": [1, 2], "offsets": [[0, 1], [1, 2]], "logprobs": [None, -0.5]}


def make(name, n, group, rng, contrast=False):
    starts = np.sort(rng.integers(0, 50, n))
    tokens = Tokens(
        rng.integers(0, 2**40, n), starts, starts + rng.integers(0, 3, n), rng.random(n) < 0.2, rng.random(n) < 0.7
    )
    logprobs, violating = -rng.random(n) * 20, -rng.random(n) * 20
    logprobs[rng.random(n) < 0.2] = violating[rng.random(n) < 0.2] = np.nan
    return Scored(name, group, tokens, logprobs, violating if contrast else None)


def equal(a, b):
    assert (a.id, a.group) == (b.id, b.group)
    np.testing.assert_array_equal(a.logprobs, b.logprobs)
    np.testing.assert_array_equal(a.violating, b.violating)
    for name in ("ids", "starts", "ends", "special", "supervised"):
        left, right = getattr(a.tokens, name), getattr(b.tokens, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
@pytest.mark.parametrize("lengths", [[], [0], [3, 0, 17, 1], [1] * 3000])
@pytest.mark.parametrize("contrast", [False, True])
def test_round_trip_is_lossless(tmp_path, ending, lengths, contrast):
    rng = np.random.default_rng(len(lengths))
    scored = [make(f"é{i}", n, None if i % 2 else "g", rng, contrast) for i, n in enumerate(lengths)]
    path = tmp_path / f"scores.{ending}"
    write_scores(path, scored, SOURCE)
    found, source = read_scores(path)
    assert source == SOURCE
    assert len(found) == len(scored)
    for a, b in zip(found, scored, strict=True):
        equal(a, b)


def jsonl(tmp_path, *rows):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(tmp_path, *rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "own.parquet"
    names = dict.fromkeys(name for row in rows for name in row)
    pq.write_table(pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows]), path)
    return path


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_users_may_bring_the_bare_minimum(tmp_path, write):
    (found,), source = read_scores(write(tmp_path, ROW))
    assert source == Source()
    assert found.tokens.supervised.all()
    assert not found.tokens.special.any()
    assert np.isnan(found.logprobs).tolist() == [True, False]
    assert found.tokens.ends.tolist() == [1, 2]


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_files_of_the_first_format_are_read(tmp_path, write):
    path = write(tmp_path, ROW)
    if write is jsonl:
        path.write_text(json.dumps({"sm_ops_format": "scores/1", "reference": "old"}) + "\n" + path.read_text())
    else:
        import pyarrow.parquet as pq

        pq.write_table(
            pq.read_table(path).replace_schema_metadata({"sm_ops_format": "scores/1", "reference": "old"}), path
        )
    (found,), source = read_scores(path)
    assert source == Source("old")
    assert found.violating is None


@pytest.mark.parametrize("write", [jsonl, parquet])
@pytest.mark.parametrize(("change", "words"), [
    ({"logprobs_violating": [-1.0]}, "record 1: logprobs_violating has 1 entries, token_ids has 2"),
    ({"id": None}, "record 1: id missing"),
    ({"logprobs": [-1.0]}, "record 1: logprobs has 1 entries, token_ids has 2"),
    ({"offsets": [[0, 1]]}, "offsets has 1 entries"),
    ({"offsets": [[0, 1], [2, 1]]}, "ends before it starts"),
    ({"offsets": [[-1, 1], [1, 2]]}, "negative"),
    ({"offsets": [[0, 1, 2], [1, 2, 3]]}, "pairs of start and end"),
])  # fmt: skip
def test_wrong_rows_are_refused_by_index_and_field(tmp_path, write, change, words):
    with pytest.raises(InputError, match=words):
        read_scores(write(tmp_path, ROW, ROW | {"id": "b"} | change))


def test_wrong_files_are_refused(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text("{}\nnot json\n")
    with pytest.raises(InputError, match="line 2"):
        read_scores(path)
    (tmp_path / "own.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match="no readable Parquet"):
        read_scores(tmp_path / "own.parquet")
    with pytest.raises(InputError, match=r"ends in \.parquet or \.jsonl"):
        read_scores(tmp_path / "own.csv")
    with pytest.raises(InputError, match="'scores/3'"):
        read_scores(jsonl(tmp_path, {"sm_ops_format": "scores/3"}, ROW))
    with pytest.raises(InputError, match="not a number"):
        read_scores(jsonl(tmp_path, ROW | {"logprobs": ["secret", 1]}))


def test_an_unknown_parquet_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sm_ops.scoring.scores.FORMAT", "scores/9")
    write_scores(tmp_path / "s.parquet", [], SOURCE)
    monkeypatch.undo()
    with pytest.raises(InputError, match="'scores/9'"):
        read_scores(tmp_path / "s.parquet")


def test_the_file_backend_finds_by_id_and_keeps_the_grid(tmp_path, settings):
    path = jsonl(tmp_path, ROW, ROW | {"id": "b", "logprobs": [-0.1, -0.2]})
    reference = file.load(settings(path))
    b, a = reference.score([Record("b", text="xy", group="g"), Record("a", text="xy")])
    assert (b.id, b.group, a.id) == ("b", "g", "a")
    assert (b.logprobs * 2**20 == np.rint(b.logprobs * 2**20)).all()
    assert reference.source.reference == "own.jsonl"
    with pytest.raises(InputError, match="Record 1 has no scores"):
        reference.score([Record("a", text="xy"), Record("c", text="xy")])
    with pytest.raises(InputError, match="outside its 1 characters"):
        reference.score([Record("a", text="x")])


def test_the_file_backend_refuses_repeated_ids_and_no_file(tmp_path, settings):
    with pytest.raises(InputError, match="1 repeated ids"):
        file.load(settings(jsonl(tmp_path, ROW, ROW)))
    with pytest.raises(InputError, match="no score file"):
        file.load(settings(tmp_path / "none.jsonl"))


def test_a_contrast_for_some_records_alone_is_refused(tmp_path):
    with pytest.raises(InputError, match="1 of 2 records have logprobs_violating"):
        read_scores(jsonl(tmp_path, ROW | {"logprobs_violating": [-1, None]}, ROW | {"id": "b"}))


def test_one_file_may_hold_a_contrast(tmp_path, settings):
    path = jsonl(tmp_path, ROW | {"logprobs": [-3.0, -0.1], "logprobs_violating": [-1.0, None]})
    (found,) = file.load(settings(path)).score([Record("a", text="xy")])
    np.testing.assert_array_equal(found.surprise, [2, np.nan])
    with pytest.raises(InputError, match="already has logprobs_violating"):
        file.load(settings(path, violating=str(path)))


def test_two_files_are_aligned_by_id_and_place(tmp_path, settings):
    first = jsonl(tmp_path, ROW | {"logprobs": [-3.0, -2.0]}, ROW | {"id": "b"}).rename(tmp_path / "compliant.jsonl")
    second = jsonl(
        tmp_path,
        {"id": "c", "token_ids": [1], "offsets": [[0, 1]], "logprobs": [-1]},
        {"id": "a", "token_ids": [9, 2], "offsets": [[1, 2], [0, 2]], "logprobs": [-0.1, -1]},
    )
    reference = file.load(settings(first, violating=str(second)))
    (found,) = reference.score([Record("a", text="xy", group="g")])
    assert (found.tokens.ids.tolist(), found.group) == ([9, 2], "g")
    np.testing.assert_allclose(found.surprise, [1.9, np.nan], atol=2**-20)
    assert (found.violating * 2**20 == np.rint(found.violating * 2**20)).all()
    for absent in "bc":
        with pytest.raises(InputError, match="Record 0 has no scores"):
            reference.score([Record(absent, text="xy")])
    with pytest.raises(InputError, match="no score file"):
        file.load(settings(first, violating=str(tmp_path / "none.jsonl")))
