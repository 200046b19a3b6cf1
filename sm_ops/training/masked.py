"""A masked training set: ids, attention mask, labels and the mask itself, as any Hugging Face trainer reads them.

Format masked/2: Parquet with `id`, `input_ids`, `attention_mask`, `labels`, and two lists of booleans: `supervised`
(may be learned) and `masked` (selected by the mask, hence supervised). `labels` are for who reads one record a row:
-100 where a token is not supervised or masked, which keeps its id and stays in the context, and at the first token,
which nothing precedes (some trainers count a label there without learning it). `datasets.load_dataset("parquet", ...)`
reads it, and transformers' Trainer and TRL's SFTTrainer take it unchanged. In masked/1 masked and unsupervised tokens
looked alike, so it is refused. A name that ends in `.jsonl` has the same rows behind a line with the format, for
machines without pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core import lines
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.labels import IGNORED, labels

FORMAT = "masked/2"


@dataclass(frozen=True, slots=True)
class Example:
    """One record's `ids` and `labels` (int64) and `masked` (bool), of equal length.

    `labels` are -100 at masked and unsupervised tokens. A first token that is supervised has its label: it is learned
    where the record is packed behind a separator.
    """

    id: str
    ids: np.ndarray
    labels: np.ndarray
    masked: np.ndarray

    @property
    def supervised(self) -> np.ndarray:
        """Which tokens may be learned, masked or not."""
        return (self.labels != IGNORED) | self.masked


def examples(records: Sequence[Record], tokens: Sequence[Tokens], masks: Iterable[np.ndarray]) -> Iterator[Example]:
    """Examples of which the supervised tokens outside the mask are learned.

    `masks` holds one boolean a token and record; what a mask selects outside the supervised tokens does not count.
    """
    for record, own, mask in zip(records, tokens, masks, strict=True):
        yield Example(record.id, own.ids, labels(own.ids, own.supervised, mask), own.supervised & mask)


def unmasked(records: Sequence[Record], tokens: Sequence[Tokens]) -> list[Example]:
    """Examples of which everything supervised is learned."""
    return list(examples(records, tokens, (np.zeros(len(own), bool) for own in tokens)))


def write(path: Path, examples: Iterable[Example]) -> None:
    """Write a masked training set; the name's ending decides: `.jsonl`, else Parquet."""
    examples = list(examples)
    columns = {
        "id": [example.id for example in examples],
        "input_ids": [example.ids for example in examples],
        "attention_mask": [np.ones(len(example.ids), np.int8) for example in examples],
        "labels": [np.where(np.arange(len(each.ids)) > 0, each.labels, IGNORED) for each in examples],
        "supervised": [example.supervised for example in examples],
        "masked": [example.masked for example in examples],
    }
    if path.suffix == lines.SUFFIX:
        lines.write(path, FORMAT, columns)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        columns,
        schema=pa.schema(
            [
                ("id", pa.string()),
                ("input_ids", pa.list_(pa.int32())),
                ("attention_mask", pa.list_(pa.int8())),
                ("labels", pa.list_(pa.int64())),
                ("supervised", pa.list_(pa.bool_())),
                ("masked", pa.list_(pa.bool_())),
            ],
            metadata={"sm_ops_format": FORMAT},
        ),
    )
    pq.write_table(table, path)


def read(path: Path) -> list[Example]:
    """Read a masked training set; another format version is refused in words."""
    names = ("id", "input_ids", "supervised", "masked")
    found, columns = lines.read(path, names) if path.suffix == lines.SUFFIX else _from_parquet(path, names)
    if found != FORMAT:
        hint = f"{path.name}: format {found!r} instead of {FORMAT!r}; make the training set again."
        raise InputError("masked-format", hint)
    return [_example(*row) for row in zip(*columns, strict=True)]


def _from_parquet(path: Path, names: Sequence[str]) -> tuple[str, list[list[Any]]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    found = (table.schema.metadata or {}).get(b"sm_ops_format", b"none").decode()
    return found, [table[name].to_pylist() if name in table.schema.names else [] for name in names]


def _example(id_: str, input_ids: list[int], supervised: list[bool], masked: list[bool]) -> Example:
    ids, mask = np.array(input_ids, np.int64), np.array(masked, bool)
    return Example(id_, ids, labels(ids, np.array(supervised, bool), mask), mask)
