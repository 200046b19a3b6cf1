"""A folder as a place: final keys are hard links, which the system makes only where nothing is."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from sm_ops.core import fs
from sm_ops.core.errors import InputError, full_disk
from sm_ops.storage.places.place import STAGING, Lock

_PIECE = 1 << 20
_READ_ONLY, _READABLE = 0o444, 0o644
_PATIENCE = 60
"""Seconds to wait for another command's short change."""


class FolderPlace:
    """A folder of this machine, or of a share with hard links. It has no Object Lock, so a lock asks nothing of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.text = str(root)
        self.owner: str | None = None

    def check(self, lock: bool) -> None:
        """Make the folder where its parent is, and try whether it takes files."""
        del lock
        if not self.root.is_dir():
            if not self.root.parent.is_dir():
                raise InputError("place", f"There is no folder {self.root.parent}; make it, or publish elsewhere.")
            self.root.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=self.root):
            pass

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with a prefix, sorted."""
        folder = self.root / prefix.rpartition("/")[0]
        found = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
        keys = (path.relative_to(self.root).as_posix() for path in found)
        return sorted(key for key in keys if key.startswith(prefix))

    def digest(self, key: str) -> str | None:
        """SHA-256 of what is there, read in full."""
        try:
            return fs.file_hash(self.root / key)
        except FileNotFoundError:
            return None

    def read(self, key: str) -> Iterator[bytes]:
        """The bytes, in pieces."""
        with (self.root / key).open("rb") as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def get(self, key: str) -> tuple[bytes, str] | None:
        """A file and its SHA-256."""
        try:
            data = (self.root / key).read_bytes()
        except FileNotFoundError:
            return None
        return data, fs.sha256(data)

    def stage(self, key: str, source: Path) -> None:
        """Write a file, or write it anew."""
        target = self.root / key
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with fs.replacing(target) as unfinished:
                shutil.copyfile(source, unfinished)
                fs.fsync(unfinished)
                unfinished.chmod(_READ_ONLY)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise full_disk(self.root) from None  # the library's own error names the source

    def promote(self, staged: str, key: str, lock: Lock | None) -> bool:
        """Give a staged file its final key; False, and nothing done, where something is there already."""
        del lock
        target = self.root / key
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(self.root / staged, target)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                raise
            hint = f"{self.root} has no hard links, by which a file is written only once; publish elsewhere."
            raise InputError("no-hard-links", hint) from None
        fs.fsync(target.parent)
        return True

    def keep(self, key: str, lock: Lock) -> None:
        """Nothing: a folder has no locks."""

    def put_once(self, key: str, data: bytes, lock: Lock | None) -> bool:
        """Write a small file; False, and nothing done, where something is there already."""
        with self._written(data, _READ_ONLY) as staged:
            return self.promote(staged, key, lock)

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a small file if its SHA-256 is `tag` (None: it is not there)."""
        with self._written(data, _READABLE) as staged:
            present = self.get(key)
            if (present and present[1]) != tag:
                return False
            os.replace(self.root / staged, self.root / key)
            fs.fsync(self.root)
            return True

    @contextmanager
    def _written(self, data: bytes, mode: int) -> Iterator[str]:
        """A small file on its way, and nobody else who has one: what a killed command left there goes."""
        folder = self.root / STAGING / ".small"
        try:
            with FileLock(self.root / ".lock", timeout=_PATIENCE):
                shutil.rmtree(folder, ignore_errors=True)
                fs.write_atomic(folder / "file", data, mode)
                yield f"{STAGING}/.small/file"
                shutil.rmtree(folder)
        except Timeout:
            hint = f"Another command has held {self.root} for {_PATIENCE} s; run the same command again."
            raise InputError("place-busy", hint) from None

    def remove(self, prefix: str, keep: Collection[str] = ()) -> None:
        """Delete what begins with a prefix, but for the keys to keep, and the folders that are empty then."""
        for key in self.keys(prefix):
            if key not in keep:
                (self.root / key).unlink(missing_ok=True)
        for parent, _, _ in os.walk(self.root / prefix, topdown=False):
            with suppress(OSError):  # what is not empty stays
                os.rmdir(parent)
