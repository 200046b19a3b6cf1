"""Rows of a batch, and the file a masked training set is kept in."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.training import masked, packing
from sm_ops.training.masked import Example
from sm_ops.training.packing import IGNORED

pytestmark = pytest.mark.unit

SEPARATOR = 0


def example(id_, ids, masked_positions=()):
    labels = np.array(ids)
    labels[list(masked_positions)] = IGNORED
    return Example(id_, np.array(ids), labels)


EXAMPLES = [example("a", [1, 2, 3, 4, 5], [1]), example("b", [6, 7]), example("c", [8, 9, 10], [0, 1, 2])]


def test_packed_rows_hold_every_token_once_behind_its_separator():
    rows = packing.pack(EXAMPLES, SEPARATOR, context=4, seed=3)
    ids = np.concatenate([row["input_ids"] for row in rows]).tolist()
    assert all(len(row["input_ids"]) == len(row["labels"]) == 4 for row in rows)
    text = ",".join(map(str, ids))
    for one in EXAMPLES:
        assert ",".join(map(str, [SEPARATOR, *one.ids])) in text
    assert sorted(i for i in ids if i != SEPARATOR) == list(range(1, 11))


def test_a_row_s_first_token_separators_filling_and_masked_tokens_are_not_learned():
    rows = packing.pack(EXAMPLES, SEPARATOR, context=4, seed=3)
    hidden = {2, 8, 9, 10, SEPARATOR}
    for row in rows:
        for position, (token, label) in enumerate(zip(row["input_ids"], row["labels"], strict=True)):
            assert label == (IGNORED if position == 0 or token in hidden else token)
    learned = sum(
        position > 0 and token not in hidden for row in rows for position, token in enumerate(row["input_ids"])
    )
    assert packing.learned_tokens(rows) == learned


def test_the_order_is_the_seed_s():
    many = [example(str(i), [i + 1]) for i in range(50)]
    first, again, other = (packing.pack(many, SEPARATOR, 8, seed)[0]["input_ids"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rows_are_cut_to_the_context_and_leave_the_examples_alone():
    rows = packing.rows(EXAMPLES, context=3)
    assert [row["input_ids"].tolist() for row in rows] == [[1, 2, 3], [6, 7], [8, 9, 10]]
    assert [row["labels"].tolist() for row in rows] == [[IGNORED, IGNORED, 3], [IGNORED, 7], [IGNORED] * 3]
    assert EXAMPLES[1].labels.tolist() == [6, 7]


def test_padding_is_neither_attended_to_nor_learned():
    batch = packing.collate(packing.rows(EXAMPLES, context=9), padding=99)
    assert batch["input_ids"].tolist() == [[1, 2, 3, 4, 5], [6, 7, 99, 99, 99], [8, 9, 10, 99, 99]]
    assert batch["attention_mask"].tolist() == [[1] * 5, [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]
    assert batch["labels"][1].tolist() == [IGNORED, 7, IGNORED, IGNORED, IGNORED]


def test_a_masked_set_survives_its_file_and_is_read_by_datasets(tmp_path):
    path = tmp_path / "set.parquet"
    masked.write(path, EXAMPLES)
    for before, after in zip(EXAMPLES, masked.read(path), strict=True):
        assert (before.id, before.ids.tolist(), before.labels.tolist()) == (
            after.id, after.ids.tolist(), after.labels.tolist(),
        )  # fmt: skip
    datasets = pytest.importorskip("datasets")
    table = datasets.load_dataset("parquet", data_files=str(path), cache_dir=str(tmp_path / "cache"), split="train")
    assert table[0]["labels"] == [1, IGNORED, 3, 4, 5]
    assert table[0]["attention_mask"] == [1] * 5


def test_another_format_is_refused_in_words(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="format 'none' instead of 'masked/1'"):
        masked.read(tmp_path / "other.parquet")
