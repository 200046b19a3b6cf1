"""What a file holds, part by part, as streams of bytes: itself, tables, columns, and what is packed in it."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

CHUNK = 1 << 20
ERRORS = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, sqlite3.Error)
"""What a damaged, locked, encrypted or forbidden file raises; pyarrow's own errors are among them."""
_DEPTH = 3
_SQLITE, _PARQUET, _GZIP = b"SQLite format 3\0", b"PAR1", b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OPAQUE = (b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"7z\xbc\xaf", *(b"BZh%d1AY" % level for level in range(1, 10)))
_PACKED = (_SQLITE, _PARQUET + b"\x15", _GZIP + b"\x08", *_ZIP, *_OPAQUE)

Part = tuple[str, Iterable[bytes]]


class Opaque(ValueError):
    """A file is packed in a way that we do not look into."""


def parts(path: Path, depth: int = 0) -> Iterator[Part]:
    """`(part, bytes in chunks)` of a file; take the bytes of a part before you ask for the next.

    Raises one of `ERRORS` where the file cannot be looked into; what was given before then counts.
    """
    with path.open("rb") as stream:
        head = stream.read(16)
        stream.seek(0)
        yield "bytes", _chunks(stream)
    if head.startswith(_OPAQUE):
        raise Opaque
    if head.startswith(_SQLITE):
        yield from _tables(path)
    elif head.startswith(_PARQUET):
        yield from _columns(path)
    elif head.startswith(_GZIP):
        yield from _unpacked("unpacked", partial(gzip.open, path, "rb"), depth)
    elif head.startswith(_ZIP):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield from _unpacked(f"member {name}", partial(archive.open, name), depth)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk


def _unpacked(name: str, opened: Callable[[], Any], depth: int) -> Iterator[Part]:
    with opened() as stream:
        head = stream.read(16)
    if not head.startswith((_SQLITE, _PARQUET, _GZIP, *_ZIP, *_OPAQUE)):
        with opened() as stream:
            yield name, _chunks(stream)
        return
    if depth == _DEPTH:
        raise Opaque
    with tempfile.TemporaryDirectory() as folder:  # what is inside needs a file to be looked into
        inner = Path(folder) / "inner"
        with opened() as stream, open(inner, "xb", opener=_private) as copy:
            shutil.copyfileobj(stream, copy, CHUNK)
        for part, chunks in parts(inner, depth + 1):
            yield f"{name}, {part}", chunks


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _tables(path: Path) -> Iterator[Part]:
    """Every cell of every table, one a line."""
    with closing(_database(path)) as database:
        database.text_factory = bytes
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for name in [name.decode(errors="replace") for (name,) in rows]:
            yield f"table {name}", _cells(database, name)


def _database(path: Path) -> sqlite3.Connection:
    """Open a database for reading; one with a write-ahead log that is empty is read so that no new log is made."""
    with path.open("rb") as stream:
        logs_ahead = stream.read(20)[18:] == b"\x02\x02"
    log = path.with_name(f"{path.name}-wal")
    how = "immutable=1" if logs_ahead and not (log.exists() and log.stat().st_size) else "mode=ro"
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True)


def _cells(database: sqlite3.Connection, table: str) -> Iterator[bytes]:
    quoted = table.replace('"', '""')
    lines, packed = bytearray(), False
    for row in database.execute(f'SELECT * FROM "{quoted}"'):
        for cell in row:
            data = cell if isinstance(cell, bytes) else str(cell).encode()
            packed = packed or data.startswith(_PACKED)
            lines += data + b"\n"
        if len(lines) >= CHUNK:
            yield bytes(lines)
            lines.clear()
    yield bytes(lines)
    if packed:
        raise Opaque


def _columns(path: Path) -> Iterator[Part]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for field in file.schema_arrow:
            if not _is_measure(field.type):
                yield f"column {field.name}", _cells_of(file, field.name)


def _cells_of(file: Any, column: str) -> Iterator[bytes]:
    packed = False
    for batch in file.iter_batches(batch_size=1024, columns=[column]):
        cells = [_cell(value) for value in batch.column(0).to_pylist()]
        packed = packed or any(cell.startswith(_PACKED) for cell in cells)
        yield b"\n".join(cells) + b"\n"
    if packed:
        raise Opaque


def _cell(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else json.dumps(value, default=_text, ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape")


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def _is_measure(kind: Any) -> bool:
    """Whether a column holds nothing but truth values or measured numbers."""
    import pyarrow.types as types

    while types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return types.is_boolean(kind) or types.is_floating(kind) or types.is_null(kind)
