"""Search files and folders for values; what is found is told as places, forms and counts."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sm_ops.core.types import Progress, unheard
from sm_ops.leaks.contents import ERRORS, Opaque, parts
from sm_ops.leaks.forms import HEAD, head, reach
from sm_ops.leaks.scan import Scanner

_GROUP, _GROUP_CHARACTERS = 20_000, 150_000
"""Values searched at a time, and their length together: the automata over all forms take 800 MB at most."""
_PACKED = "packed in a way that is not looked into"
_HIDDEN = "[a name that holds a value]"


@dataclass(frozen=True)
class Finding:
    """That values stand somewhere: never which, nor what they are."""

    place: str
    part: str
    form: str
    values: int
    occurrences: int


@dataclass(frozen=True)
class Leaks:
    """What a search found, and how much it searched.

    `cut` values are long and searched by their head alone. `links` were not followed, `special` are pipes, sockets and
    devices; `unread` says, by place, what could not be looked into.
    """

    findings: list[Finding]
    files: int
    links: int
    special: int
    bytes: int
    searched: int
    as_words: int
    cut: int
    not_searchable: int
    unread: dict[str, str]

    def __bool__(self) -> bool:
        return bool(self.findings)

    def to_json(self) -> dict[str, Any]:
        """Plain values for a program."""
        return asdict(self)


def find_leaks(
    paths: Iterable[Path],
    values: Iterable[str],
    without: Sequence[Path] = (),
    progress: Progress = unheard,
) -> Leaks:
    """Search files and folders for values, in all their forms (`sm_ops.leaks.forms`) and in what files pack.

    Looks into names, bytes, SQLite tables, Parquet columns, gzip and zip. Links are not followed, but their names and
    targets are searched. Values that are too short are searched as whole words or not at all, long ones by their head,
    and are counted apart. Memory grows with the number of values (up to 20,000 at a time) and of findings, not with the
    files.
    """
    whole = set(values)
    distinct = sorted({head(value) for value in whole})
    reaches = [reach(value) for value in distinct]
    wanted = [value for value, how in zip(distinct, reaches, strict=True) if how != "none"]
    notes = _Notes()
    files = list(dict.fromkeys(_below(paths, [path.absolute() for path in without], notes)))
    groups = list(_groups(wanted))
    size = 0
    for turn, group in enumerate(groups):
        scanner = Scanner(group)
        size = 0
        for number, path in enumerate(files, start=1):
            size += _search(path, scanner, notes)
            progress(number + len(files) * turn, len(files) * len(groups))
    kinds = [_kind(path) for path in files]
    return Leaks(
        findings=notes.findings(),
        files=sum(1 for kind in kinds if kind != "folder"),
        links=kinds.count("link"),
        special=kinds.count("special"),
        bytes=size,
        searched=len(wanted),
        as_words=reaches.count("words"),
        cut=sum(1 for value in whole if len(value) > HEAD),
        not_searchable=reaches.count("none"),
        unread=dict(sorted((notes.shown(path), why) for path, why in notes.unread.items())),
    )


def _groups(values: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    characters = 0
    for value in values:
        if len(group) == _GROUP or characters + len(value) > _GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
        group.append(value)
        characters += len(value)
    if group:
        yield group


class _Notes:
    """What was found, by place; names that hold a value are hidden when all is known."""

    def __init__(self) -> None:
        self.unread: dict[Path, str] = {}
        self._found: dict[tuple[Path, str, str], list[int]] = defaultdict(lambda: [0, 0])
        self._named: set[Path] = set()
        self._named_parts: set[tuple[Path, str]] = set()

    def add(self, path: Path, part: str, hits: dict[tuple[int, str], int]) -> None:
        """Note the hits in one part of a file."""
        if part == "name" and hits:
            self._named.add(path)
        for (_, form), count in hits.items():
            noted = self._found[path, part, form]
            noted[0] += 1
            noted[1] += count

    def add_part_name(self, path: Path, part: str, hits: dict[tuple[int, str], int]) -> None:
        """Note the hits in the name of a part: a table, a column, a member."""
        if hits:
            self._named_parts.add((path, part))
            self.add(path, part, hits)

    def closed(self, error: OSError) -> None:
        """Note a folder that cannot be listed."""
        if not isinstance(error, FileNotFoundError):
            self.unread[Path(error.filename)] = "not allowed to be read"

    def findings(self) -> list[Finding]:
        """All that was found, by place."""
        return sorted(
            (
                Finding(self.shown(path), _HIDDEN if (path, part) in self._named_parts else part, form, *counts)
                for (path, part, form), counts in self._found.items()
            ),
            key=lambda found: (found.place, found.part, found.form),
        )

    def shown(self, path: Path) -> str:
        """A path that gives no value away."""
        if not self._named.intersection((path, *path.parents)):
            return str(path)
        shown = Path(path.anchor)
        for end in range(2, len(path.parts) + 1):
            shown /= _HIDDEN if Path(*path.parts[:end]) in self._named else path.parts[end - 1]
        return str(shown)


def _search(path: Path, scanner: Scanner, notes: _Notes) -> int:
    """Search one file, or a folder's name; its size in bytes."""
    notes.add(path, "name", scanner.scan([os.fsencode(path.name)]))
    size = 0
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            notes.add(path, "link", scanner.scan([os.fsencode(os.readlink(path))]))
        if not stat.S_ISREG(status.st_mode):
            return 0
        size = status.st_size
        for part, chunks in parts(path):
            notes.add_part_name(path, part, scanner.scan([part.encode(errors="replace")]))
            notes.add(path, part, scanner.scan(_readable(chunks, path, notes)))
    except FileNotFoundError:  # removed while we searched
        return 0
    except Opaque:
        notes.unread[path] = _PACKED
    except ERRORS:
        notes.unread[path] = "damaged, encrypted or not allowed to be read"
    return size


def _readable(chunks: Iterable[bytes], path: Path, notes: _Notes) -> Iterator[bytes]:
    """The chunks up to where one cannot be read."""
    try:
        yield from chunks
    except Opaque:
        notes.unread[path] = f"a part of it is {_PACKED}"
    except ERRORS:
        notes.unread[path] = "a part of it is damaged or locked"


def _kind(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "file" if stat.S_ISREG(mode) else "special"


def _below(paths: Iterable[Path], without: list[Path], notes: _Notes) -> Iterator[Path]:
    """Files, links and folders in order; what is left out is not entered."""
    for root in paths:
        root = root.absolute()
        if root in without or any(root.is_relative_to(left) for left in without):
            continue
        if os.path.islink(root) or not os.path.isdir(root):
            yield root
            continue
        for folder, folders, files in os.walk(root, onerror=notes.closed):
            here = Path(folder)
            folders[:] = sorted(name for name in folders if here / name not in without)
            yield from (here / name for name in sorted([*files, *folders]) if here / name not in without)
