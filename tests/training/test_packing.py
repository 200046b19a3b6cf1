"""Rows of a batch, and the file a masked training set is kept in."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.training import masked, packing
from sm_ops.training.masked import Example
from sm_ops.training.packing import IGNORED

pytestmark = pytest.mark.unit

SEPARATOR = 0


def example(id_, ids, masked_positions=()):
    mask = np.zeros(len(ids), bool)
    mask[list(masked_positions)] = True
    return Example(id_, np.array(ids), np.where(mask, IGNORED, ids), mask)


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
        assert before.id == after.id
        for name in ("ids", "labels", "masked"):
            assert getattr(after, name).tolist() == getattr(before, name).tolist()
            assert getattr(after, name).dtype == getattr(before, name).dtype
    datasets = pytest.importorskip("datasets")
    table = datasets.load_dataset("parquet", data_files=str(path), cache_dir=str(tmp_path / "cache"), split="train")
    assert table[0] == {
        "id": "a",
        "input_ids": [1, 2, 3, 4, 5],
        "attention_mask": [1] * 5,
        "labels": [IGNORED, IGNORED, 3, 4, 5],  # nothing precedes the first
        "supervised": [True] * 5,
        "masked": [False, True, False, False, False],
    }


def test_only_supervised_tokens_are_masked():
    """What a mask selects elsewhere is left out, so that masked tokens are those of which learning is in question."""
    tokens = Tokens(np.arange(1, 5), *(np.zeros(4, np.int64),) * 2, np.zeros(4, bool), np.array([0, 1, 1, 0], bool))
    (made,) = masked.examples([Record("a", text="")], [tokens], [np.array([True, True, False, False])])
    assert made.labels.tolist() == [IGNORED, IGNORED, 3, IGNORED]
    assert made.masked.tolist() == [False, True, False, False]
    assert made.supervised.tolist() == [False, True, True, False]
    (plain,) = masked.unmasked([Record("a", text="")], [tokens])
    assert plain.labels.tolist() == [IGNORED, 2, 3, IGNORED]
    assert not plain.masked.any()


@pytest.mark.parametrize("metadata", [None, {"sm_ops_format": "masked/1"}])
def test_another_format_is_refused_in_words(tmp_path, metadata):
    """Also masked/1, in which masked and unsupervised tokens look alike."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"id": ["a"], "input_ids": [[1]], "labels": [[1]]}).replace_schema_metadata(metadata)
    pq.write_table(table, tmp_path / "other.parquet")
    found = "none" if metadata is None else "masked/1"
    with pytest.raises(InputError, match=f"format '{found}' instead of 'masked/2'; make the training set again"):
        masked.read(tmp_path / "other.parquet")


# ---- what the context cuts -----------------------------------------------------------------------------


def chat(id_, supervised, masked_positions=()):
    ids, mask = np.arange(1, 1 + len(supervised)), np.zeros(len(supervised), bool)
    mask[list(masked_positions)] = True
    return Example(id_, ids, np.where(np.array(supervised, bool) & ~mask, ids, IGNORED), mask)


CHATS = [
    chat("early", [0, 1, 0, 0, 0, 1]),
    chat("late", [0, 0, 0, 0, 1, 1]),
    chat("late and masked", [0, 0, 0, 0, 1, 1], [4, 5]),
    chat("early and masked", [0, 0, 1, 0, 0, 0], [2]),
    chat("no answer", [0, 0, 0, 0, 0, 0]),
    chat("only the first", [1, 0, 0, 0, 0, 0]),
    chat("at the edge", [0, 0, 0, 1, 0]),
]


def test_records_that_lose_all_to_the_cut_are_refused_with_their_number_or_dropped():
    with pytest.raises(InputError, match=r"In 2 of 7 records .* train.context = 4 .* train.truncated=drop"):
        packing.within(CHATS, 4, "refuse")
    kept = [each.id for each in packing.within(CHATS, 4, "drop")]
    assert kept == ["early", "early and masked", "no answer", "only the first", "at the edge"]
    assert len(packing.within(CHATS, 5, "refuse")) == 7
    assert [each.id for each in packing.within(CHATS, 3, "drop")] == kept[:-1]
    assert not packing.within([chat("the first, which is never learned, and late", [1, 0, 0, 0, 1])], 4, "drop")


def test_cut_and_silent_records_and_rows_are_counted():
    assert [packing.cut(CHATS, context) for context in (4, 5, 6)] == [7, 6, 0]
    assert packing.without_loss(each.labels for each in CHATS) == 3
    assert packing.without_loss(row["labels"] for row in packing.rows(CHATS, 6)) == 4  # and the first token alone
    rows = packing.pack(CHATS, SEPARATOR, context=4, seed=0)
    assert packing.without_loss(row["labels"] for row in rows) == sum(
        all(label == IGNORED for label in row["labels"]) for row in rows
    )


def test_masks_follow_their_tokens_into_packed_rows():
    rows = packing.pack(EXAMPLES, SEPARATOR, context=4, seed=3)
    hidden = {2, 8, 9, 10}
    for row in rows:
        assert row["masked"].tolist() == [token in hidden for token in row["input_ids"].tolist()]
    batch = packing.collate(packing.rows(EXAMPLES, context=9), padding=99)
    assert batch["masked"].tolist() == [[False, True, False, False, False], [False] * 5, [True] * 3 + [False] * 2]
