"""Look for values in what a program left behind, in every form in which it might have written them.

Hits name a place and a form, never the value.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus

_SQLITE = b"SQLite format 3\0"


def forms(value: str) -> dict[str, set[bytes]]:
    """The byte strings that give a value away, by the name of the form."""
    raw = value.encode()
    quoted = {quote(value), quote(value, safe=""), quote_plus(value)}
    return {
        "raw": {raw, value.encode("utf-16-le"), value.lower().encode(), value.upper().encode()},
        "json": {json.dumps(value)[1:-1].encode(), json.dumps(value, ensure_ascii=False)[1:-1].encode()},
        "percent": {re.sub("%..", change, text).encode() for text in quoted for change in (_same, _lower)},
        "base64": _base64(raw),
        "hex": {raw.hex().encode(), raw.hex().upper().encode(), raw.hex(" ").encode()},
        "reversed": {value[::-1].encode(), raw[::-1]},
    }


def _same(escape: re.Match[str]) -> str:
    return escape[0]


def _lower(escape: re.Match[str]) -> str:
    return escape[0].lower()


def _base64(raw: bytes) -> set[bytes]:
    """What is common to all base64 texts that hold the bytes, for each of the three phases and both alphabets."""
    found = set()
    for phase in range(3):
        padded = b"\0" * phase + raw
        whole = len(padded) - len(padded) % 3
        skipped = (0, 2, 3)[phase]  # characters that mix with what stands before
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(padded[:whole])[skipped:])
    return found


def found_in(data: bytes, values: Sequence[str]) -> list[tuple[int, str]]:
    """`(number of the value, form)` of all that stands in the data."""
    unbroken = re.sub(rb"\s+", b"", data)
    bare = _bare(data.decode(errors="replace"))
    hits = []
    for number, value in enumerate(values):
        for form, needles in forms(value).items():
            if any(needle in data or needle in unbroken for needle in needles):
                hits.append((number, form))
        if _bare(value) in bare:
            hits.append((number, "separator-free"))
    return hits


def _bare(text: str) -> str:
    """Letters and digits alone: finds a value whose parts were joined otherwise, or not at all."""
    return "".join(filter(str.isalnum, text)).lower()


def search(folder: Path, values: Sequence[str], without: Sequence[Path] = ()) -> list[str]:
    """Where below a folder a value stands: file names, contents, archives, and every table of every database."""
    hits = []
    for path in sorted(folder.rglob("*")):
        if any(path.is_relative_to(left_out) for left_out in without):
            continue
        place = path.relative_to(folder)
        texts = [("name", path.name.encode())]
        if path.is_file():
            texts += _contents(path)
        for part, data in texts:
            hits += [f"value {number} as {form} in {place} ({part})" for number, form in found_in(data, values)]
    return hits


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    data = path.read_bytes()
    yield "bytes", data
    if data.startswith(_SQLITE):
        yield from _tables(path)
    elif data.startswith(b"PAR1"):
        yield "columns", _columns(path)
    elif data.startswith(b"\x1f\x8b"):
        yield "unpacked", gzip.decompress(data)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield name, name.encode() + b"\n" + archive.read(name)


def _tables(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every cell of every table, one a line."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            quoted = name.replace('"', '""')
            rows = database.execute(f'SELECT * FROM "{quoted}"')
            cells = (cell if isinstance(cell, bytes) else str(cell).encode() for row in rows for cell in row)
            yield f"table {name}", b"\n".join(cells)


def _columns(path: Path) -> bytes:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    cells = json.dumps(table.to_pydict(), default=str, ensure_ascii=False)
    return cells.encode() + repr(table.schema.metadata).encode()
