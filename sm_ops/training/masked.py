"""A masked training set: ids, attention mask and labels, as any Hugging Face trainer reads them.

Format masked/1: Parquet with `id`, `input_ids`, `attention_mask`, `labels` (-100 = not learned; masked tokens
keep their id and stay in the context). `datasets.load_dataset("parquet", ...)` reads it unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking.labels import labels

FORMAT = "masked/1"


@dataclass(frozen=True, slots=True)
class Example:
    """One record's `ids` and `labels` (int64, equal length)."""

    id: str
    ids: np.ndarray
    labels: np.ndarray


def unmasked(records: Sequence[Record], tokens: Sequence[Tokens]) -> list[Example]:
    """Examples of which everything supervised is learned."""
    return [
        Example(record.id, own.ids, labels(own.ids, own.supervised, np.zeros(len(own), bool)))
        for record, own in zip(records, tokens, strict=True)
    ]


def write(path: Path, examples: Iterable[Example]) -> None:
    """Write a masked training set."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    examples = list(examples)
    table = pa.table(
        {
            "id": [example.id for example in examples],
            "input_ids": [example.ids.tolist() for example in examples],
            "attention_mask": [[1] * len(example.ids) for example in examples],
            "labels": [example.labels.tolist() for example in examples],
        },
        schema=pa.schema(
            [
                ("id", pa.string()),
                ("input_ids", pa.list_(pa.int32())),
                ("attention_mask", pa.list_(pa.int8())),
                ("labels", pa.list_(pa.int64())),
            ],
            metadata={"sm_ops_format": FORMAT},
        ),
    )
    pq.write_table(table, path)


def read(path: Path) -> list[Example]:
    """Read a masked training set; another format version is refused in words."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    found = (table.schema.metadata or {}).get(b"sm_ops_format", b"none").decode()
    if found != FORMAT:
        hint = f"{path.name}: format {found!r} instead of {FORMAT!r}; make the training set again."
        raise InputError("masked-format", hint)
    columns = (table["id"].to_pylist(), table["input_ids"].to_pylist(), table["labels"].to_pylist())
    return [
        Example(id_, np.asarray(ids, dtype=np.int64), np.asarray(labels, dtype=np.int64))
        for id_, ids, labels in zip(*columns, strict=True)
    ]
