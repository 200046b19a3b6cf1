"""What a place can do. Keys are relative paths with `/`; a key is written whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

STAGING = ".staging"
"""Keys below it are of what is on its way."""


@dataclass(frozen=True)
class Lock:
    """Object Lock of one object: nobody deletes it before `until`, under GOVERNANCE but by a special permission."""

    mode: Literal["GOVERNANCE", "COMPLIANCE"]
    until: datetime


class Place(Protocol):
    """A folder or a bucket's prefix. Failures are `InputError`s that name the place and what to do."""

    text: str
    owner: str | None
    """The AWS account that the bucket must belong to."""

    def check(self, lock: bool) -> None:
        """Refuse a place that cannot keep a release, before anything is written; `lock`: Object Lock is asked for."""
        ...

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with a prefix, sorted."""
        ...

    def digest(self, key: str) -> str | None:
        """SHA-256 of what is there: as the service computed it, or else read in full. None where nothing is."""
        ...

    def read(self, key: str) -> Iterator[bytes]:
        """The bytes, in pieces; `FileNotFoundError` where nothing is."""
        ...

    def get(self, key: str) -> tuple[bytes, str] | None:
        """A small file, and the tag by which `swap` knows this state of it."""
        ...

    def stage(self, key: str, source: Path) -> None:
        """Write a file, or write it anew."""
        ...

    def promote(self, staged: str, key: str, lock: Lock | None) -> bool:
        """Give a staged file its final key; False, and nothing done, where something is there already."""
        ...

    def keep(self, key: str, lock: Lock) -> None:
        """Make sure that an object is locked, where the place has locks."""
        ...

    def put_once(self, key: str, data: bytes, lock: Lock | None) -> bool:
        """Write a small file; False, and nothing done, where something is there already."""
        ...

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a small file if it is still in the state `tag` (None: not there); False where it is not."""
        ...

    def remove(self, prefix: str, keep: Collection[str] = ()) -> None:
        """Delete what begins with a prefix, every version of it, but for the keys to keep."""
        ...


def read_digest(pieces: Iterable[bytes]) -> str:
    """SHA-256 of what is read, in hexadecimal digits."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
