"""The home folder: whether it can be written, who may look into it, and who works in it now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.holders import holders, identity
from sm_ops.health.row import Row


def rows(home: Path) -> Iterator[Row]:
    """Place, modes of the private folders, and locks."""
    there = next(path for path in (home, *home.parents) if path.exists())
    usable = there.is_dir() and os.access(there, os.W_OK)
    yield Row("home", usable, f"{home}" + ("" if usable else " cannot be written; choose another with SM_OPS_HOME"))
    for folder, most in ((home / "restricted", 0o700), (home / "vault", 0o700), (home / "stack", 0o711)):
        if folder.exists():
            mode = folder.stat().st_mode & 0o777
            private = not mode & ~most
            yield Row(folder.name, private, f"mode {mode:04o}" + ("" if private else f"; run: chmod 700 {folder}"))
    held = [f"{lock.stem} by {holder}" for lock, holder in _held(home)]
    yield Row("locks", True, ", ".join(held) or "none is held")


def _held(home: Path) -> Iterator[tuple[Path, str]]:
    """The home's locks that a process holds."""
    known = holders()
    for lock in sorted([*home.glob("locks/*.lock"), *home.glob("vault/lock")]):
        with suppress(OSError):
            if (pid := known.get(identity(lock.stat()))) is not None:
                yield lock, f"process {pid}{_step(lock)}"


def _step(lock: Path) -> str:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return f" (step {fs.read_json(lock.with_suffix('.holder'))['step']})"
    return ""
