"""Shards: files of records become JSON lines that hold `id` and `text` or `messages` and little else, as a stream.

Besides them a record keeps the columns that the policy looks at (the quasi-identifiers of k-anonymity), which an owner
so declares to be public.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.pii.files import TEXT_KEYS, Row, rows

PART_BYTES = 1 << 30
"""Above this size a shard is split: a part is sent, checked and, after a failure, sent again as one object."""


@dataclass(frozen=True)
class Part:
    """What one file of a bundle holds of a shard: its name below `data/`, and its number of records."""

    name: str
    rows: int


CLEANED = ("san_redact", "redacted.jsonl")
"""The one restricted output that may become a release: what a filter cleaned, which the checks have yet to judge."""


def refuse_restricted(home: Path, path: Path) -> None:
    """`InputError` for what must never be released: other outputs of class `restricted`, loss-masked training sets."""
    root, whole = (home / "restricted").resolve(), path.resolve()
    if whole.is_relative_to(root) and (whole.relative_to(root).parts[0], whole.name) != CLEANED:
        hint = f"{path} is a restricted output: it holds values of the data. Release what was redacted, masked or "
        hint += "scrubbed: sm-ops mask --redact, sm-ops pii mask, sm-ops pii scrub"
        raise InputError("restricted", hint)
    if path.suffix == ".parquet" and path.is_file() and _holds_tokens(path):
        hint = f"{path} holds token ids, as a loss-masked training set does: values stay in its tokens, it is "
        hint += "restricted. Release redacted records: sm-ops mask --redact"
        raise InputError("restricted", hint)


def _holds_tokens(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
    except pa.ArrowException:
        return False  # told where its rows are read
    return "input_ids" in schema.names or b"masked/" in (schema.metadata or {}).get(b"sm_ops_format", b"")


def write(name: str, source: Path, folder: Path, columns: Collection[str] = ()) -> list[Part]:
    """Write the records of a file to `folder/NAME`, or where they are too large to `NAME-00001.jsonl` and so on.

    Raises `InputError` that names file and row for what is no record of text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Part] = []
    lines = map(partial(_line, columns), rows(source))
    line = next(lines, None)
    while line is not None:
        path = folder / f"{Path(name).stem}-{len(parts) + 1:05d}.jsonl"
        count = size = 0
        with path.open("xb") as out:
            while line is not None and (size + len(line) <= PART_BYTES or not count):
                out.write(line)
                count, size = count + 1, size + len(line)
                line = next(lines, None)
            out.flush()
            os.fsync(out.fileno())
        parts.append(Part(path.name, count))
    if not parts:
        raise InputError("no-records", f"{source} holds no records; there is nothing to release.")
    if len(parts) == 1:
        os.rename(folder / parts[0].name, folder / name)
        parts = [Part(name, parts[0].rows)]
    fs.fsync(folder)
    return parts


def _line(columns: Collection[str], row: Row) -> bytes:
    try:
        return json.dumps({**_kept(row, columns), **_content(row)}, ensure_ascii=False, sort_keys=True).encode() + b"\n"
    except UnicodeEncodeError:
        raise row.refused("it holds half a surrogate pair, which is no text") from None


def _kept(row: Row, columns: Collection[str]) -> dict[str, Any]:
    kept = {name: row.value[name] for name in columns if row.value.get(name) is not None}
    for name, value in kept.items():
        if not isinstance(value, str | int | float | bool):
            raise row.refused(f"its {name!r}, which the policy looks at, is no single value")
    return kept


def _content(row: Row) -> dict[str, Any]:
    keys = [key for key in (*TEXT_KEYS, "messages") if row.value.get(key) is not None]
    if len(keys) != 1:
        raise row.refused("it has no text or messages of its own, so it is no record that could be released")
    value = row.value[keys[0]]
    if keys == ["messages"]:
        if not (isinstance(value, list) and value and all(map(_is_message, value))):
            raise row.refused("its messages are not a list of `role` and `content`")
        messages = [{"role": each["role"], "content": each["content"]} for each in value]
        return {"id": row.id, "messages": messages}
    if not isinstance(value, str):
        raise row.refused(f"`{keys[0]}` is no string")
    return {"id": row.id, "text": value}


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("role", "content"))
