"""Record files: JSONL and Parquet in and out; a bad row is refused by line, field and reason, never by value.

A row has `id`, either `text` or `messages` (`role`, `content`), and optionally `group`, `spans` (`start`,
`end`, `label` or its alias `type`, and `message` in chats) and `meta`; other top-level keys go into `meta`,
and null counts as absent. Offsets are code points of the stored string, which is never normalised.

The format is `records/1`. JSONL rows stay plain and may carry it as `format`; Parquet carries it in the file's
metadata as `sm_ops_format`, and holds `meta` as JSON text.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.core.registry import did_you_mean

FORMAT = "records/1"
METADATA_KEY = b"sm_ops_format"
ROLES = ("system", "developer", "user", "assistant", "tool")
_KNOWN = ("id", "text", "messages", "group", "spans", "meta", "format")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Refusal(Exception):
    """A field and a reason; the reader adds the place."""


def read_records(path: str | Path) -> Iterator[Record]:
    """Yield the records of a JSONL or Parquet file in order, refusing the first bad row.

    Raises `InputError` with the path, the line (JSONL, from 1) or row index (Parquet, from 0), the field and
    the reason. Faults of the file as a whole are raised at once, those of a row when it is reached.
    """
    path = Path(path)
    rows = _by_suffix(path, {".jsonl": jsonl_rows, ".parquet": _parquet_rows})
    if path.is_dir():
        raise InputError("records-directory", f"{path} is a directory; name one .jsonl or .parquet file.")
    if not path.exists():
        raise InputError("records-missing", f"{path} does not exist; check the path.")
    return _records(path, rows(path))


def write_records(path: str | Path, records: Iterable[Record]) -> None:
    """Write records as JSONL or Parquet, by the path's suffix, in one canonical form.

    JSONL rows are UTF-8 JSON with sorted keys, one a line, without what is empty: equal records, equal bytes.
    """
    path = Path(path)
    _by_suffix(path, {".jsonl": _write_jsonl, ".parquet": _write_parquet})(path, records)


def _by_suffix(path: Path, known: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    if path.suffix not in known:
        raise InputError(
            "records-extension",
            f"{path} has an extension that records are not kept under; {did_you_mean(path.suffix, known)}.",
        )
    return known[path.suffix]


def _records(path: Path, rows: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[Record]:
    seen: dict[str, str] = {}
    for place, row in rows:
        try:
            record = _record(row)
            if record.id in seen:
                raise _Refusal("id", f"is the same as in {seen[record.id]}")
        except _Refusal as refusal:
            field, reason = refusal.args
            raise InputError("bad-record", f"{path}, {place}, field {field}: {reason}.") from None
        seen[record.id] = place
        yield record
    if not seen:
        raise InputError("records-empty", f"{path} holds no records; at least one is needed.")


# ---- rows of a file ------------------------------------------------------------------------------------


def jsonl_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place (`line 7`) and object of every line that is not blank; `InputError` for one that is no JSON object."""
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            place = f"line {number}"
            if offset == 0 and line.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise InputError(
                    "bad-record", f"{path} begins with a byte order mark; save it as UTF-8 without one."
                )
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    "bad-record", f"{path}, {place}: byte {offset + error.start} of the file is not UTF-8."
                ) from None
            offset += len(line)
            if text.strip():
                yield place, _json_object(path, place, text)


def _json_object(path: Path, place: str, text: str) -> dict[str, Any]:
    try:
        row = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError("bad-record", f"{path}, {place}: not valid JSON at column {error.colno}.") from None
    except (ValueError, RecursionError):  # NaN, a number with thousands of digits, endless nesting
        raise InputError("bad-record", f"{path}, {place}: not valid JSON.") from None
    if not isinstance(row, dict):
        raise InputError("bad-record", f"{path}, {place}: the row is not a JSON object.")
    return row


def _refuse_constant(_: str) -> None:
    raise ValueError


def _parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    index = 0
    try:
        with pq.ParquetFile(path) as file:
            version = (file.schema_arrow.metadata or {}).get(METADATA_KEY)
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    if version is not None:
                        row["format"] = version.decode("utf-8", "replace")
                        row["meta"] = json.loads(row["meta"]) if isinstance(row.get("meta"), str) else None
                    yield f"row {index}", _plain(row)
                    index += 1
    except UnicodeDecodeError:
        raise InputError("bad-record", f"{path}, near row {index}: a string is not UTF-8.") from None
    except (pa.ArrowException, ValueError):
        raise InputError("bad-record", f"{path} is not a whole, readable Parquet file.") from None


def _plain(value: Any) -> Any:
    """Bring what Parquet has and JSON lacks (dates, decimals, bytes, NaN) to strings and null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


# ---- one row -------------------------------------------------------------------------------------------


def _record(row: dict[str, Any]) -> Record:
    for key, value in row.items():
        name = key if key in _KNOWN else "(another top-level key)"
        if not (_well_formed(key) and _well_formed(value)):
            raise _Refusal(name, "holds a lone surrogate, which no text file can store")
    if row.get("format") not in (None, FORMAT):
        raise _Refusal("format", f"names a version that this release does not read; it reads {FORMAT!r}")
    identity = _string(row.get("id"), "id")
    text, messages = _text(row.get("text")), _messages(row.get("messages"))
    if (text is None) == (messages is None):
        both = "both stand in the row" if text is not None else "neither stands in the row"
        raise _Refusal("text/messages", f"{both}, but a record has exactly one of the two")
    return Record(
        id=identity,
        text=text,
        messages=messages,
        group=None if row.get("group") is None else _string(row["group"], "group"),
        spans=_spans(row.get("spans"), text, messages),
        meta=_meta(row),
    )


def _well_formed(value: Any) -> bool:
    """Whether no string within holds a lone surrogate."""
    if isinstance(value, str):
        return _SURROGATE.search(value) is None
    if isinstance(value, dict):
        return all(_well_formed(key) and _well_formed(item) for key, item in value.items())
    return all(map(_well_formed, value)) if isinstance(value, list) else True


def _string(value: Any, field: str) -> str:
    if value is None:
        raise _Refusal(field, "is missing")
    if not isinstance(value, str):
        raise _Refusal(field, f"must be a string, not {_type(value)}")
    if not value:
        raise _Refusal(field, "is empty")
    return value


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _Refusal("text", f"must be a string, not {_type(value)}")
    return value


def _messages(value: Any) -> tuple[Message, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise _Refusal("messages", "must be a list of at least one message")
    messages = []
    for index, item in enumerate(value):
        field = f"messages[{index}]"
        if not isinstance(item, dict):
            raise _Refusal(field, f"must be an object, not {_type(item)}")
        role, content = _string(item.get("role"), f"{field}.role"), item.get("content")
        if role not in ROLES:
            raise _Refusal(f"{field}.role", f"is none of {', '.join(ROLES)}")
        if not isinstance(content, str):
            raise _Refusal(f"{field}.content", f"must be a string, not {_type(content)}")
        messages.append(Message(role, content))
    return tuple(messages)


def _spans(value: Any, text: str | None, messages: tuple[Message, ...] | None) -> tuple[Span, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _Refusal("spans", f"must be a list, not {_type(value)}")
    return tuple(_span(item, f"spans[{index}]", text, messages) for index, item in enumerate(value))


def _span(item: Any, field: str, text: str | None, messages: tuple[Message, ...] | None) -> Span:
    if not isinstance(item, dict):
        raise _Refusal(field, f"must be an object, not {_type(item)}")
    start, end = (_integer(item.get(name), f"{field}.{name}") for name in ("start", "end"))
    label = _string(item["type"] if item.get("label") is None and "type" in item else item.get("label"),
                    f"{field}.label")
    message = item.get("message")
    if messages is None:
        if message is not None:
            raise _Refusal(f"{field}.message", "names a message, but the record is a text")
        within, size = "text", len(text or "")
    else:
        message = _integer(message, f"{field}.message")
        if not 0 <= message < len(messages):
            raise _Refusal(f"{field}.message", f"is not within 0 to {len(messages) - 1}")
        within, size = "message", len(messages[message].content)
    if start >= end:
        raise _Refusal(field, "start must be less than end")
    if start < 0 or end > size:
        raise _Refusal(field, f"is not within its {within}, which has {size} code points")
    return Span(start, end, label, message)


def _integer(value: Any, field: str) -> int:
    if value is None:
        raise _Refusal(field, "is missing")
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Refusal(field, f"must be an integer, not {_type(value)}")
    return value


def _meta(row: dict[str, Any]) -> dict[str, Any]:
    meta = {} if row.get("meta") is None else row["meta"]
    if not isinstance(meta, dict):
        raise _Refusal("meta", f"must be an object, not {_type(meta)}")
    others = {key: value for key, value in row.items() if key not in _KNOWN}
    if "spans" not in row and others and (near := get_close_matches("spans", others, n=1, cutoff=0.8)):
        raise _Refusal("spans", f"is missing, and the key {near[0]!r} is near it; name it spans, or put it into meta")
    if meta.keys() & others.keys():
        raise _Refusal("meta", "has a key that also stands at the top level, so it is unclear which holds")
    return {**others, **meta}


def _type(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "an integer", float: "a decimal number",
             str: "a string", list: "a list", dict: "an object"}
    return names[type(value)]


# ---- writing -------------------------------------------------------------------------------------------


def _row(record: Record) -> dict[str, Any]:
    row: dict[str, Any] = {"id": record.id}
    if record.messages is None:
        row["text"] = record.text
    else:
        row["messages"] = [{"role": item.role, "content": item.content} for item in record.messages]
    if record.group is not None:
        row["group"] = record.group
    if record.spans:
        row["spans"] = [
            {"start": span.start, "end": span.end, "label": span.label}
            | ({} if span.message is None else {"message": span.message})
            for span in record.spans
        ]
    if record.meta:
        row["meta"] = record.meta
    return row


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _write_jsonl(path: Path, records: Iterable[Record]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(_json(_row(record)) + "\n" for record in records)


def _write_parquet(path: Path, records: Iterable[Record]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    span = pa.struct(
        [("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("message", pa.int64())]
    )
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("text", pa.string()),
            ("messages", pa.list_(message)),
            ("group", pa.string()),
            ("spans", pa.list_(span)),
            ("meta", pa.string()),
        ],
        metadata={METADATA_KEY: FORMAT.encode()},
    )
    rows = [_row(record) for record in records]
    for row in rows:
        row["meta"] = _json(row.get("meta", {}))
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
