"""Files of the vault: written whole for their owner alone, and destroyed before they are removed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sm_ops.core import fs


def write(path: Path, data: bytes) -> None:
    """Write a file atomically, mode 0600."""
    fs.write_atomic(path, data, mode=0o600)


def destroy(path: Path) -> None:
    """Overwrite a file, flush it, remove it."""
    erase(path)
    path.unlink()


def erase(path: Path) -> None:
    """Overwrite a file and flush it."""
    with path.open("r+b", buffering=0) as stream:
        overwrite(stream.fileno())


def overwrite(descriptor: int) -> None:
    """Replace a file's bytes on the disk, as far as a file system does that in place."""
    size = os.fstat(descriptor).st_size
    os.pwrite(descriptor, os.urandom(size), 0)
    os.fsync(descriptor)


def size(folder: Path) -> int:
    """Bytes of a folder's files; a file that is replaced meanwhile counts nothing."""
    total = 0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total
