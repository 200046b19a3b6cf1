"""The score file: tokens and log probabilities per record, as Parquet or JSONL, without loss.

Columns `id`, `group`, `token_ids`, `offsets`, `logprobs` (null = missing), `special`, `supervised`, and for a prompted
contrast `logprobs_violating`; the format's version and the reference's identity are in the Parquet metadata, or in
the first line of a JSONL. Users may bring files of their own: `group`, `special`, `supervised` and the metadata may
then be absent. Files of format scores/1, which knew no contrast, are read too.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.fs import write_atomic
from sm_ops.core.tokens import Scored, Tokens

FORMAT = "scores/2"
_READ = (FORMAT, "scores/1")
_REQUIRED = ("id", "token_ids", "offsets", "logprobs")


@dataclass(frozen=True, slots=True)
class Source:
    """Which reference the scores come from; empty where a user's file does not say.

    `prefix` is the token that stood before each text (OP-05), or "none"; `head` a SHA-256 of all that stood there:
    prefix token, examples and prompts; `dtype` the weights' number type.
    """

    reference: str = ""
    revision: str = ""
    tokenizer_hash: str = ""
    prefix: str = ""
    head: str = ""
    dtype: str = ""


def write_scores(path: Path, scored: Sequence[Scored], source: Source) -> None:
    """Write a score file atomically; the name's ending decides: `.parquet`, or `.jsonl`."""
    metadata = {"sm_ops_format": FORMAT, **asdict(source)}
    write_atomic(path, _to_jsonl(scored, metadata) if _is_jsonl(path) else _to_parquet(scored, metadata))


def read_scores(path: Path) -> tuple[list[Scored], Source]:
    """Read a score file; `InputError` names the record's index and the field that is wrong."""
    metadata, rows = _read_jsonl(path) if _is_jsonl(path) else _read_parquet(path)
    version = metadata.pop("sm_ops_format", FORMAT)
    if version not in _READ:
        raise InputError(
            "unknown-format",
            f"{path.name} has format {version!r}, but this version reads {FORMAT!r}; score the records again.",
        )
    source = Source(**{name: metadata.get(name, "") for name in Source.__dataclass_fields__})
    scored = [_scored(path, index, row) for index, row in enumerate(rows)]
    contrasts = sum(each.violating is not None for each in scored)
    if 0 < contrasts < len(scored):
        raise InputError(
            "bad-score-file",
            f"{path.name}: {contrasts} of {len(scored)} records have logprobs_violating; give it for all or for none.",
        )
    return scored, source


def _is_jsonl(path: Path) -> bool:
    if path.suffix not in (".jsonl", ".parquet"):
        raise InputError("unknown-format", f"{path.name}: a score file ends in .parquet or .jsonl.")
    return path.suffix == ".jsonl"


def _to_jsonl(scored: Iterable[Scored], metadata: dict[str, str]) -> bytes:
    lines: list[dict[str, Any]] = [dict(metadata)]
    for each in scored:
        tokens = each.tokens
        lines.append(
            {
                "id": each.id,
                "group": each.group,
                "token_ids": tokens.ids.tolist(),
                "offsets": np.stack([tokens.starts, tokens.ends], axis=1).tolist(),
                "logprobs": _nulls(each.logprobs),
                "special": tokens.special.tolist(),
                "supervised": tokens.supervised.tolist(),
            }
            | ({} if each.violating is None else {"logprobs_violating": _nulls(each.violating)})
        )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _nulls(values: np.ndarray) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _read_jsonl(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    lines = []
    with path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            if not isinstance(row, dict):
                raise InputError("bad-score-file", f"{path.name}, line {number}: not a JSON object.") from None
            lines.append(row)
    metadata = lines.pop(0) if lines and "id" not in lines[0] else {}
    return metadata, iter(lines)


def _to_parquet(scored: Sequence[Scored], metadata: dict[str, str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    ends = np.cumsum([0, *(len(each.tokens) for each in scored)])

    def column(arrays: Iterable[np.ndarray], kind: Any, missing: bool = False) -> Any:
        values = np.concatenate([*arrays, np.empty(0)]).astype(kind)
        return pa.LargeListArray.from_arrays(ends, pa.array(values, from_pandas=missing))

    pairs = np.concatenate(
        [np.empty((0, 2), np.int64), *(np.stack([e.tokens.starts, e.tokens.ends], axis=1) for e in scored)]
    )
    columns: dict[str, Any] = {
        "id": pa.array([each.id for each in scored], pa.string()),
        "group": pa.array([each.group for each in scored], pa.string()),
        "token_ids": column((e.tokens.ids for e in scored), np.int64),
        "offsets": pa.LargeListArray.from_arrays(ends, pa.FixedSizeListArray.from_arrays(pairs.ravel(), 2)),
        "logprobs": column((e.logprobs for e in scored), np.float64, missing=True),
        "special": column((e.tokens.special for e in scored), bool),
        "supervised": column((e.tokens.supervised for e in scored), bool),
    }
    violating = [each.violating for each in scored if each.violating is not None]
    if violating:
        columns["logprobs_violating"] = column(violating, np.float64, missing=True)
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), buffer, compression="zstd")
    return buffer.getvalue()


def _read_parquet(path: Path) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:
        raise InputError("bad-score-file", f"{path.name} is no readable Parquet file.") from None
    metadata = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}

    def rows() -> Iterator[dict[str, Any]]:
        for batch in table.to_batches(max_chunksize=1024):
            columns = {name: _cells(batch.column(name)) for name in batch.schema.names}
            for i in range(batch.num_rows):
                yield {name: cells[i] for name, cells in columns.items()}

    return metadata, rows()


def _cells(column: Any) -> list[Any]:
    """A Parquet column as one Python value or NumPy array per row, None where it is null."""
    import pyarrow as pa

    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return column.to_pylist()
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    inner = column.flatten()
    if pa.types.is_list(inner.type) or pa.types.is_large_list(inner.type) or pa.types.is_fixed_size_list(inner.type):
        pairs = inner.flatten().to_numpy(zero_copy_only=False)
        values = pairs.reshape(len(inner), -1) if len(inner) and len(pairs) % len(inner) == 0 else pairs[:, None]
    else:
        values = inner.to_numpy(zero_copy_only=False)
    cells = np.split(values, np.cumsum(lengths)[:-1]) if len(lengths) else []
    return [cell if valid else None for cell, valid in zip(cells, column.is_valid().to_pylist(), strict=True)]


def _scored(path: Path, index: int, row: dict[str, Any]) -> Scored:
    def refuse(reason: str) -> InputError:
        return InputError("bad-score-file", f"{path.name}, record {index}: {reason}.")

    missing = [name for name in _REQUIRED if row.get(name) is None]
    if missing:
        raise refuse(f"{' and '.join(missing)} missing")
    n = len(row["token_ids"])

    def values(name: str, kind: Any, default: bool | None = None) -> np.ndarray:
        cell = row.get(name)
        try:
            array = np.full(n, default) if cell is None else np.array(cell, dtype=kind)
        except (TypeError, ValueError, OverflowError):
            raise refuse(f"{name} holds something that is not a number") from None
        if len(array) != n:
            raise refuse(f"{name} has {len(array)} entries, token_ids has {n}")
        return array

    offsets = values("offsets", np.int64)
    if offsets.shape != (n, 2) and n:
        raise refuse("offsets must be pairs of start and end")
    starts, ends = offsets.reshape(n, 2).T.copy()
    if (starts < 0).any() or (starts > ends).any():
        raise refuse("an offset is negative or ends before it starts")
    tokens = Tokens(
        values("token_ids", np.int64), starts, ends, values("special", bool, False), values("supervised", bool, True)
    )
    violating = None if row.get("logprobs_violating") is None else values("logprobs_violating", np.float64)
    return Scored(str(row["id"]), row.get("group"), tokens, values("logprobs", np.float64), violating)
