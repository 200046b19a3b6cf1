"""Where the bytes lie: DVC's cache, and the two remotes, each a folder or a prefix of an S3 bucket.

A remote is marked with its class by a file in it, and takes no data before it is: another class's data never lands in
it, whatever a settings file says. S3 is asked at `AWS_ENDPOINT_URL`, with the credentials that boto3 would find.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sm_ops.core import fs
from sm_ops.core.errors import InputError, SmOpsError, sanitise
from sm_ops.versioning.data.entries import Entry, RemoteName

if TYPE_CHECKING:
    from dvc_data.hashfile.db import HashFileDB
    from dvc_objects.fs.base import FileSystem

MARK = "sm-ops-remote.json"
_MARK_FORMAT = "data-remote/1"
_OBJECTS = "files/md5"
PAUSES = (1.0, 4.0)
"""Seconds before each further try; each try has several of the S3 library's own in it."""
CONNECT_SECONDS, READ_SECONDS = 10, 60
_LOGGERS = ("dvc", "dvc_data", "dvc_objects", "s3fs", "aiobotocore", "botocore", "asyncio")
Answer = TypeVar("Answer")


class Absent(Exception):
    """The remote has no such file."""


class Cache:
    """DVC's cache: what is here can be sent and checked out without the store."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._objects = _local(home / "restricted" / "data-cache")

    def has(self, entry: Entry) -> bool:
        """Whether the bytes are here, by their size; `add` and a checkout look at the content."""
        path = self.path(entry)
        return path.is_file() and path.stat().st_size == entry.size

    def path(self, entry: Entry) -> Path:
        """Where the bytes are or would be."""
        return Path(self._objects.oid_to_path(entry.md5))

    def add(self, entry: Entry, source: Path) -> None:
        """Copy a file's bytes into it, whole or not at all, where they are not yet."""
        if not self.has(entry):
            fs.private_folder(self._home / "restricted")
            self._objects.add(str(source), self._objects.fs, entry.md5, check_exists=False)

    @property
    def system(self) -> FileSystem:
        """DVC's view of the file system that it lies in."""
        return self._objects.fs

    def drop(self, entry: Entry) -> None:
        """Remove what turned out to be damaged."""
        self.path(entry).unlink(missing_ok=True)


class Remote:
    """One remote. What it cannot do now is an `InputError` that names it."""

    def __init__(self, name: RemoteName, url: str) -> None:
        self.name: RemoteName = name
        self.url = url
        self._bucket = url.removeprefix("s3://") if url.startswith("s3://") else None
        self._made: HashFileDB | None = None

    # ---- its mark ------------------------------------------------------------------------------------------

    def mark(self) -> None:
        """Mark it with its class; refuse one that is marked with the other, or that others may enter."""
        found = self._patiently(self._marked)
        if found not in (None, self.name):
            raise self._of_another_class(found)
        if self._bucket is None and self.name == "restricted":
            if not Path(self.url).is_dir() or not any(Path(self.url).iterdir()):
                fs.private_folder(Path(self.url))
            self._refuse_open_folder()
        if found is None:
            content = fs.canonical_json({"format": _MARK_FORMAT, "class": self.name})
            self._patiently(lambda: self._put(content))

    def check(self) -> None:
        """Refuse a remote that is not marked with its own class, or a folder for restricted data that is open."""
        if self._bucket is None and not Path(self.url).is_dir():
            hint = f"The remote {self.name}, {self.url}, is not there; mount it, or choose another: sm-ops data remote"
            raise InputError("remote-absent", hint)
        found = self._patiently(self._marked)
        if found is None:
            option = "--restricted " if self.name == "restricted" else ""
            hint = f"{self.url} is not marked as the remote {self.name}; mark it with: sm-ops data remote {option}URL"
            raise InputError("remote-unmarked", hint)
        if found != self.name:
            raise self._of_another_class(found)
        self._refuse_open_folder()

    def _refuse_open_folder(self) -> None:
        if self._bucket is None and self.name == "restricted" and Path(self.url).stat().st_mode & 0o077:
            hint = f"Others may enter {self.url}; give it mode 0700, or choose a folder of its own for restricted data."
            raise InputError("remote-open", hint)

    def _of_another_class(self, found: str) -> InputError:
        hint = f"{self.url} is marked as the remote {found}, not {self.name}; choose another place for it."
        return InputError("remote-class", hint)

    def _marked(self) -> str | None:
        try:
            mark = json.loads(self._objects.fs.cat_file(self._mark_path))
            return mark["class"] if mark["format"] == _MARK_FORMAT else "of another version"
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return "damaged"

    def _put(self, content: bytes) -> None:
        if self._bucket is None:
            fs.write_atomic(Path(self._mark_path), content)
        else:
            self._objects.fs.pipe_file(self._mark_path, content)

    @property
    def _mark_path(self) -> str:
        return f"{self._root}/{MARK}"

    # ---- its data ------------------------------------------------------------------------------------------

    def lacking(self, entries: Sequence[Entry]) -> list[Entry]:
        """What is not there, or not with its size."""
        return self._patiently(lambda: self._lacking(entries))

    def _lacking(self, entries: Sequence[Entry]) -> list[Entry]:
        paths = [self._objects.oid_to_path(entry.md5) for entry in entries]
        answers = self._objects.fs.info(paths, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError):
                raise answer
        return [
            entry
            for entry, answer in zip(entries, answers, strict=True)
            if isinstance(answer, Exception) or answer["size"] != entry.size
        ]

    def send(self, entries: Sequence[Entry], cache: Cache) -> int:
        """Bring what is lacking, and return how many files that were; each is there whole or not at all."""
        return self._patiently(lambda: self._send(entries, cache))

    def _send(self, entries: Sequence[Entry], cache: Cache) -> int:
        lacking = self._lacking(entries)
        here = [entry for entry in lacking if cache.has(entry)]
        failures: list[BaseException] = []
        if here:
            self._objects.add(
                [str(cache.path(entry)) for entry in here],
                cache.system,
                [entry.md5 for entry in here],
                check_exists=False,
                on_error=lambda _, error: failures.append(error),
            )
        if failures:
            raise failures[0]
        if gone := len(lacking) - len(here):
            hint = (
                f"{gone} data files of earlier runs are neither on the remote {self.name} nor in this home, so they "
                "cannot be sent; make them again with the same configs, then: sm-ops data push"
            )
            raise InputError("data-gone", hint)
        return len(here)

    def fetch(self, entry: Entry, cache: Cache) -> None:
        """Bring a file's bytes into the cache. `Absent` where they are not there."""
        path = self._objects.oid_to_path(entry.md5)

        def get() -> None:
            with fs.replacing(cache.path(entry)) as unfinished:
                unfinished.parent.mkdir(parents=True, exist_ok=True)
                try:
                    self._objects.fs.get_file(path, str(unfinished))
                except FileNotFoundError:
                    raise Absent from None

        self._patiently(get)

    # ---- asking --------------------------------------------------------------------------------------------

    @property
    def _root(self) -> str:
        return self.url if self._bucket is None else self._bucket.rstrip("/")

    @property
    def _objects(self) -> HashFileDB:
        if self._made is None:
            self._made = _local(Path(self.url)) if self._bucket is None else _s3(self._root)
        return self._made

    def _patiently(self, ask: Callable[[], Answer]) -> Answer:
        """Ask, and ask again where the answer may be another one soon."""
        pauses = [*PAUSES]
        while True:
            try:
                return ask()
            except (SmOpsError, Absent):
                raise
            except Exception as error:
                told, lasting = self._told(error)
            if lasting or not pauses:
                raise told
            time.sleep(pauses.pop(0))

    def _told(self, error: Exception) -> tuple[SmOpsError, bool]:
        """A sentence for a failure, and whether asking again is of no use."""
        kind, again = type(error).__name__, "then run the same command again."
        if self._bucket is None:
            return sanitise(error), True
        if isinstance(error, FileNotFoundError):
            return InputError("no-bucket", f"There is no bucket for {self.url}; make it, {again}"), True
        if isinstance(error, PermissionError):
            hint = f"{self.url} was refused to these credentials; it needs s3:GetObject, s3:PutObject, s3:ListBucket."
            return InputError("s3-forbidden", hint), True
        if "Credential" in kind or "Token" in kind:
            return InputError("s3-credentials", f"{self.url}: no usable credentials ({kind}); set them, {again}"), True
        hint = f"{self.url} could not be asked ({kind}); check network, bucket and AWS_ENDPOINT_URL, {again}"
        return InputError("s3-unreachable", hint), False


def _local(folder: Path) -> HashFileDB:
    from dvc_data.hashfile.db.local import LocalHashFileDB
    from dvc_objects.fs.local import LocalFileSystem

    return LocalHashFileDB(LocalFileSystem(), str(folder / _OBJECTS))


def _s3(root: str) -> HashFileDB:
    for name in _LOGGERS:  # a failure is told once, in our words
        logging.getLogger(name).setLevel(logging.CRITICAL)
    from dvc_data.hashfile.db import HashFileDB
    from dvc_s3 import S3FileSystem

    system = S3FileSystem(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS)
    return HashFileDB(system, f"{root}/{_OBJECTS}", hash_name="md5")
