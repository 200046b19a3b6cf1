"""Files that are whole or absent: hashing, atomic writing, folders for restricted data."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError

_LEAST_ROOM = 1 << 20


def canonical_json(value: Any) -> bytes:
    """The one byte form of a JSON value: sorted keys, no blanks, UTF-8, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def files_below(path: Path) -> Iterator[tuple[str, Path]]:
    """`(relative name, path)` of every file below a folder, sorted; for a file the one pair `("", path)`."""
    if path.is_file():
        yield "", path
        return
    for entry in sorted(path.rglob("*")):
        if entry.is_file():
            yield entry.relative_to(path).as_posix(), entry


def tree_hash(hashes: dict[str, str]) -> str:
    """One hash for a file or folder from the hashes of its files by relative name."""
    return hashes[""] if set(hashes) == {""} else sha256(canonical_json(hashes))


def content_hash(path: Path) -> str:
    """What a file or a folder holds, whatever its name and place."""
    return tree_hash({name: file_hash(file) for name, file in files_below(path)})


def fsync(path: Path) -> None:
    """Ask the system to keep a file or a folder's entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomic(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    fsync(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically, for people and programs."""
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_atomic(path, text.encode() + b"\n")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_memory(path: Path) -> dict[str, Any]:
    """What a JSON file remembers; nothing where there is none, or it is damaged."""
    try:
        return read_json(path)
    except (FileNotFoundError, ValueError):
        return {}


def change_memory(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replace what a JSON file remembers by `change` of it, one process after the other."""
    from filelock import FileLock

    with FileLock(path.with_name(f".{path.name}.lock")):
        write_json(path, change(read_memory(path)))


def existing(path: str | Path) -> Path:
    """The path of a file that is there, or an `InputError` that names it."""
    if not Path(path).is_file():
        raise InputError("no-file", f"There is no file {path}; check the path.")
    return Path(path)


def check_outputs(
    outputs: Iterable[Path], inputs: Iterable[Path | None], suffixes: Iterable[str], option: str = "--out"
) -> None:
    """Refuse, before work begins, an output that would replace an input, has another ending, or cannot be written.

    `option` is the command's word for the place.
    """
    read = {os.path.realpath(path) for path in inputs if path is not None}
    for path in outputs:
        if os.path.realpath(path) in read:
            raise InputError("output-is-input", f"{path} would be replaced by the result; choose another {option}.")
        if path.suffix not in suffixes:
            raise InputError("output-suffix", f"{path}: the name of the result ends in {' or '.join(suffixes)}.")
        if path.is_dir() or not takes_files(path.absolute().parent):
            raise InputError("output-place", f"{path} cannot be written; choose another place with {option}.")


def takes_files(folder: Path) -> bool:
    """Whether a folder, which may be missing yet, takes files.

    Tried, since permissions do not say it for root, nor for a file system that takes none.
    """
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return True
    except OSError:
        return False


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place to write a file at, which takes the place of `path` when all went well and is gone otherwise."""
    unfinished = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def private_folder(path: Path) -> Path:
    """A folder that only its owner may enter (mode 0700), made when missing."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.stat().st_mode & 0o077:
        path.chmod(0o700)
    return path


def is_full(path: Path) -> bool:
    """Whether the disk below a folder has no room left for a file worth the name."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize < _LEAST_ROOM
