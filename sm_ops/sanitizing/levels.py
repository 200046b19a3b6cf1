"""Files of levels: what one filter says of the texts of a corpus, whatever kind of filter it is.

A row of the Parquet file has `id` and the equally long lists `starts`, `ends` (int32, half-open code points of the
record's content) and `levels` (float64, larger = more suspicious). Rows stand in the order of the records, and are
written and read some at a time. What no interval covers is never masked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sm_ops.core.errors import InputError

FORMAT = "levels/1"
_KEY = b"sm_ops_levels"
_ROWS = 512

Kind = Literal["surprise", "detector", "combination"]


@dataclass(frozen=True)
class Filter:
    """What the levels of a file come from.

    `name` as in reports; `at` is the threshold that the filter brings itself (a detector's decoded spans), None where
    validation data has to choose one.
    """

    name: str
    kind: Kind
    at: float | None = None


class Row(NamedTuple):
    """One record's intervals with their levels: arrays of equal length, in any order; intervals may overlap."""

    id: str
    starts: np.ndarray
    ends: np.ndarray
    levels: np.ndarray


def of_detections(id_: str, detections: Iterable[tuple[int, int, str, float]]) -> Row:
    """What a detector finds in one record's content as a row; labels are left out."""
    found = [*detections]
    starts, ends, scores = ([each[place] for each in found] for place in (0, 1, 3))
    return Row(id_, np.array(starts, np.int64), np.array(ends, np.int64), np.array(scores, np.float64))


def write(path: Path, source: Filter, rows: Iterable[Row]) -> None:
    """Write rows as they come; a few hundred are held at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"starts": pa.int32(), "ends": pa.int32(), "levels": pa.float64()}
    about = json.dumps({"format": FORMAT, **asdict(source)}).encode()
    fields = [("id", pa.string()), *((name, pa.list_(type_)) for name, type_ in types.items())]
    schema = pa.schema(fields, {_KEY: about})
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False) as writer:
        for part in _batches(rows):
            edges = pa.array(np.cumsum([0, *(len(row.levels) for row in part)], dtype=np.int32))
            lists = [
                pa.ListArray.from_arrays(edges, pa.array(np.concatenate([getattr(row, name) for row in part]), type_))
                for name, type_ in types.items()
            ]
            writer.write_table(pa.table([pa.array([row.id for row in part]), *lists], schema=schema))


def about(path: Path) -> Filter:
    """What a file's levels come from; `InputError` for a file of another format."""
    import pyarrow.parquet as pq

    found = json.loads((pq.read_schema(path).metadata or {}).get(_KEY, b"{}"))
    if found.pop("format", None) != FORMAT:
        raise InputError("unknown-format", f"{path.name} is no file of levels of format {FORMAT!r}; make it again.")
    return Filter(**found)


def read(path: Path) -> Iterator[Row]:
    """The rows of a file, some at a time."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):  # reading all of them as one stream holds the whole file
            part = file.read_row_group(group)
            columns = [part.column(name).combine_chunks() for name in Row._fields]
            for row in range(part.num_rows):
                values = [column[row] for column in columns[1:]]
                yield Row(columns[0][row].as_py(), *(value.values.to_numpy(zero_copy_only=False) for value in values))


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    part: list[Row] = []
    for row in rows:
        part.append(row)
        if len(part) == _ROWS:
            yield part
            part = []
    if part:
        yield part
