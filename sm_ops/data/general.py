"""General text for pretraining, from a file or a folder, piece by piece.

`.jsonl` and `.parquet` rows have their text under `text`, and no other key is looked at; a `.txt` or `.py` file is one
document. Files of a folder come in the order of their paths, those of other kinds and hidden ones are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.data.records import jsonl_rows

Piece = tuple[str, bool]
"""A stretch of text, and whether a document begins with it."""
PIECE = 1 << 16
"""Characters after which a plain file is cut at the next end of a line (of a line as long as this, anywhere)."""


def pieces(path: str | Path) -> Iterator[Piece]:
    """Yield the pieces of all documents; no more than one (or one batch of rows) is held in memory.

    Raises `InputError` with path and row for what is no text, and where there is nothing to read.
    """
    path = Path(path)
    if not path.exists():
        raise InputError("general-missing", f"mixture.general is {path}, which is not there; correct the path.")
    found = False
    for file in _files(path):
        for piece in _READERS[file.suffix](file):
            found = True
            yield piece
    if not found:
        raise InputError("general-empty", f"{path} holds no general text; give files of {', '.join(_READERS)}.")


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        every = sorted(path.rglob("*"))
        hidden = {file for file in every if any(part.startswith(".") for part in file.relative_to(path).parts)}
        return [file for file in every if file.suffix in _READERS and file.is_file() and file not in hidden]
    if path.suffix not in _READERS:
        hint = f"{path} has an extension that general text is not read from; {did_you_mean(path.suffix, _READERS)}."
        raise InputError("general-extension", hint)
    return [path]


def _plain(path: Path) -> Iterator[Piece]:
    begins = True
    with path.open(encoding="utf-8", newline="") as file:
        try:
            while text := file.read(PIECE):
                yield text + file.readline(PIECE), begins
                begins = False
        except UnicodeDecodeError:
            raise InputError("general-encoding", f"{path} is not UTF-8; convert it, or leave it out.") from None


def _jsonl(path: Path) -> Iterator[Piece]:
    for place, row in jsonl_rows(path):
        yield _text(path, place, row.get("text")), True


def _parquet(path: Path) -> Iterator[Piece]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    index = 0
    try:
        with pq.ParquetFile(path) as file:
            columns = ["text"] if "text" in file.schema_arrow.names else []
            for batch in file.iter_batches(batch_size=64, columns=columns):
                for text in batch.column("text").to_pylist() if columns else [None] * batch.num_rows:
                    yield _text(path, f"row {index}", text), True
                    index += 1
    except (pa.ArrowException, ValueError):
        raise InputError("general-parquet", f"{path} is not a whole, readable Parquet file.") from None


def _text(path: Path, place: str, text: object) -> str:
    if not isinstance(text, str):
        hint = f"{path}, {place}, field text: a string is needed, and none is there; correct it, or leave the row out."
        raise InputError("general-row", hint)
    return text


_READERS: dict[str, Callable[[Path], Iterator[Piece]]] = {
    ".jsonl": _jsonl,
    ".parquet": _parquet,
    ".txt": _plain,
    ".py": _plain,
}
