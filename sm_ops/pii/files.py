"""Files as streams of rows: JSONL, Parquet and plain text in and out, one row or one small batch in memory.

A row of plain text is a paragraph: lines up to the blank ones that end it, these included, so that the rows joined are
the file; its id is `paragraph-N`, N from 0. Text is UTF-8, and no line end is changed.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import IO, Any, NamedTuple

from sm_ops.core.errors import InputError
from sm_ops.pii.errors import RuleError

Json = dict[str, Any]
SUFFIXES = (".jsonl", ".parquet", ".txt")
_BATCH = 1024
_BUFFER = 1 << 20
"""Bytes that are read ahead of a Parquet column; without it a whole row group would be."""
_BATCH_SIZE = 1 << 22
"""Characters of text after which a batch of Parquet rows is written, however few they are."""
_FORMAT = b"sm_ops_format"
TEXT_KEYS = ("text", "source_text")
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Row(NamedTuple):
    """One row: its number from 0, where it stands in words, where `Table` finds it again, and what it holds."""

    number: int
    place: str
    at: int
    value: Json

    @property
    def id(self) -> str:
        """Its id; `InputError` where it has none."""
        if not isinstance(self.value.get("id"), str):
            raise self.refused("it has no text `id`")
        return self.value["id"]

    def refused(self, reason: str, code: str = "bad-row") -> InputError:
        """A refusal that tells the row by its place and its number, never by what it holds."""
        return InputError(code, f"{self.place}, record {self.number}: {reason}.")

    def explained(self, error: RuleError) -> InputError:
        """A refusal of the rules (R30), whose own place has the number, with the place in the file."""
        return InputError(error.code, f"{self.place}, {error.hint[:1].lower()}{error.hint[1:]}")


# ---- reading -------------------------------------------------------------------------------------------


def rows(path: Path) -> Iterator[Row]:
    """The rows of a file, in order; `InputError` with path, line or row where one cannot be read."""
    if path.is_dir():
        raise InputError("directory", f"{path} is a directory; name one file.")
    if not path.exists():
        raise InputError("no-file", f"There is no file {path}; check the path.")
    if path.suffix not in SUFFIXES:
        raise InputError("suffix", f"{path}: the name of a file that is read here ends in {', '.join(SUFFIXES)}.")
    return dict(zip(SUFFIXES, (_jsonl, _parquet, _paragraphs), strict=True))[path.suffix](path)


def lines(path: Path, marked: bool = False) -> Iterator[tuple[int, int, str]]:
    """`(line from 1, byte offset, text with its line end)`; lines end at LF alone; a UTF-8 mark only if `marked`."""
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) if marked else _MARKS
    offset = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            if offset == 0 and line.startswith(marks):
                raise InputError("byte-order-mark", f"{path} begins with a byte order mark; save it as UTF-8 without.")
            try:
                yield number, offset, line.decode("utf-8-sig" if offset == 0 else "utf-8")
            except UnicodeDecodeError as error:
                hint = f"{path}, line {number}: byte {offset + error.start} of the file is not UTF-8."
                raise InputError("not-utf8", hint) from None
            offset += len(line)


def _jsonl(path: Path) -> Iterator[Row]:
    count = 0
    for line, offset, text in lines(path):
        if text.strip():
            place = f"{path}, line {line}"
            yield Row(count, place, offset, parsed(text, place))
            count += 1


def parsed(line: str, place: str) -> Json:
    """The JSON object of one line; a refusal tells its place and a column at most."""
    try:
        value = json.loads(line, parse_constant=_no_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise InputError("not-json", f"{place}: not valid JSON at column {error.colno}.") from None
    except _NoJson as error:
        raise InputError("not-json", f"{place}: not valid JSON, for {error}.") from None
    except RecursionError:
        raise InputError("not-json", f"{place}: its JSON is nested too deep to be read.") from None
    except ValueError:
        raise InputError("not-json", f"{place}: its JSON has a number of too many digits to be read.") from None
    if not isinstance(value, dict):
        raise InputError("not-json", f"{place}: the row is no JSON object.")
    return value


class _NoJson(Exception):
    """What Python's reader takes and the standard does not."""


def _no_constant(_: str) -> None:
    raise _NoJson("NaN and Infinity are no numbers there")


def _object(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _NoJson("a key stands twice in one object")
    return value


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow.parquet as pq

    count = 0
    with _arrow_errors(path), pq.ParquetFile(path, buffer_size=_BUFFER) as file:
        for batch in file.iter_batches(batch_size=_BATCH):
            for value in batch.to_pylist():
                yield Row(count, str(path), count, value)
                count += 1


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError("not-parquet", f"{path} is not a whole, readable Parquet file.") from None


def _paragraphs(path: Path) -> Iterator[Row]:
    held: list[str] = []
    count, first, ended, written = 0, 1, False, False
    for number, _, line in lines(path):
        blank = not line.strip(" \t\r\n")
        if ended and not blank:
            yield _paragraph(path, count, first, held)
            held, count, first, ended, written = [], count + 1, number, False, False
        held.append(line)
        written = written or not blank
        ended = written and blank
    if held:
        yield _paragraph(path, count, first, held)


def paragraph_id(number: int) -> str:
    """The id of a paragraph, which tells nothing but its place."""
    return f"paragraph-{number}"


def _paragraph(path: Path, count: int, first: int, held: list[str]) -> Row:
    value = {"id": paragraph_id(count), "text": "".join(held)}
    return Row(count, f"{path}, line {first}", count, value)


def texts(row: Json) -> list[str]:
    """The texts of a row that is sound: its one text, or the contents of its messages."""
    if row.get("messages") is not None:
        return [message["content"] for message in row["messages"]]
    return [next(row[key] for key in TEXT_KEYS if row.get(key) is not None)]


# ---- writing -------------------------------------------------------------------------------------------


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A place to write a file at, which takes the place of `path` when the block ends, and is gone after an error.

    Its folder is made where it is missing, and rid of what killed writers of the file left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in abandoned(path):
        left.unlink(missing_ok=True)
    unfinished = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield unfinished
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = f"{path} was not written: a disk is full, its own or the vault's; free space and run again."
            raise InputError("disk-full", hint) from None
        raise
    os.replace(unfinished, path)


def abandoned(path: Path) -> Iterator[Path]:
    """The unfinished files of `path` that no living writer holds, each locked while it is looked at."""
    for left in path.parent.glob(f".*-{escape(path.name)}"):
        if left.name[1:].removesuffix(f"-{path.name}").isdecimal():
            with suppress(OSError), locked(left):
                yield left


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[None]:
    """Hold a file or folder against other processes; `OSError` where another holds it, unless it is waited for."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def created(path: Path, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A new file, locked while it is written, and flushed to disk when the block ends."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def writing(
    path: Path, like: Path, keys: Collection[str] | None = None, mode: int = 0o666
) -> Iterator[Callable[[Json], None]]:
    """Write rows to a file of the kind that `like` is, flushed to disk when the block ends.

    In Parquet the columns are those of `like`: all but `spans`, or those named in `keys`, where messages have a role
    and a content, and where `spans` are labelled ones.
    """
    with created(path, mode) as stream:
        if path.suffix == ".parquet":
            with _arrow_errors(like), _ParquetRows(stream, like, keys) as out:
                yield out.write
        elif path.suffix == ".txt":
            yield lambda row: _written(stream, row["text"].encode())
        else:
            yield lambda row: _written(stream, _json(row) + b"\n")


def _written(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)


def _json(row: Json) -> bytes:
    try:
        return json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair in an id
        return json.dumps(row).encode()


class _ParquetRows:
    """Rows in batches; each batch is a row group."""

    def __init__(self, stream: IO[bytes], like: Path, keys: Collection[str] | None) -> None:
        import pyarrow.parquet as pq

        self._schema = _schema(like, keys)
        self._out = pq.ParquetWriter(stream, self._schema)
        self._rows: list[Json] = []
        self._size = 0

    def write(self, row: Json) -> None:
        """Take a row, and write the batch when it is full."""
        self._rows.append(row)
        self._size += sum(len(text) for text in texts(row))
        if len(self._rows) == _BATCH or self._size > _BATCH_SIZE:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._out.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self._size = [], 0

    def __enter__(self) -> _ParquetRows:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None and self._rows:
            self._flush()
        self._out.close()


def _schema(like: Path, keys: Collection[str] | None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    given = pq.read_schema(like)
    version = (given.metadata or {}).get(_FORMAT)
    metadata = None if version is None else {_FORMAT: version}
    if keys is None:
        return pa.schema([field for field in given if field.name != "spans"], metadata=metadata)
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    span = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("message", pa.int64())])
    kept = [
        pa.field("messages", pa.list_(message)) if field.name == "messages" else field
        for field in given
        if field.name in keys and field.name != "spans"
    ]
    return pa.schema([*kept, *([("spans", pa.list_(span))] if "spans" in keys else [])], metadata=metadata)
