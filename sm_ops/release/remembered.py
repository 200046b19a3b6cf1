"""What a home remembers of a release: the newest line of its log, so that no older copy of the bundle takes its place.

    HOME/restricted/releases/NAME@VERSION~head.json      `format` (`head/1`), `sequence`, `line`, `revocation`

`line` is the SHA-256 of the log's line number `sequence`, `revocation` that of a revocation which no line of the log
tells of, else null. A home remembers from the first line that is a person's: what the builder alone has made is made
again. What is remembered is written after the log, so it may be older; then it is learnt from a log that follows from
it, as it is where it was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import IntegrityError
from sm_ops.release.folder import HEAD_SUFFIX, LOG, REVOCATION, Release, gone, restricted_folder

_FORMAT = "head/1"


@dataclass(frozen=True)
class Head:
    """The newest line that a home has seen: its number and digest; and the digest of an unlogged revocation."""

    sequence: int
    line: str
    revocation: str | None = None

    def precedes(self, lines: Sequence[bytes]) -> bool:
        """Whether these lines of a log have it at its place."""
        found = lines[self.sequence - 1 : self.sequence] if self.sequence else [b""]
        return [*map(fs.sha256, found)] == [self.line]


def head_of(lines: Sequence[bytes], revocation: str | None = None) -> Head:
    """The newest of a log's lines."""
    return Head(len(lines), fs.sha256(lines[-1] if lines else b""), revocation)


def of(release: Release) -> Head | None:
    """What the home remembers, None where it is nothing, or only for its owner's eyes.

    Raises `IntegrityError` for a damaged file.
    """
    try:
        value = fs.read_json(release.head)
        if value.pop("format") == _FORMAT and type(value["sequence"]) is int:
            return Head(**value)
    except (FileNotFoundError, PermissionError):
        return None
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    raise IntegrityError("head-damaged", f"{release.head} is damaged; put back a sound copy of it.")


def keep(release: Release, head: Head) -> None:
    """Remember it, for the owner's eyes."""
    fs.private_folder(fs.private_folder(release.home / "restricted") / release.head.parent.name)
    value = {"format": _FORMAT, "sequence": head.sequence, "line": head.line, "revocation": head.revocation}
    fs.write_atomic(release.head, fs.canonical_json(value) + b"\n", mode=0o600)


def lines_of(release: Release) -> list[bytes]:
    """The lines of the log that is there, whatever they hold; none without a log."""
    path = release.folder / LOG
    return path.read_bytes().splitlines(keepends=True) if path.is_file() else []


def check(release: Release) -> None:
    """That the bundle is none that this home has left behind.

    Raises `IntegrityError` where it was removed, set back or replaced.
    """
    known = of(release)
    if known is None:
        return
    if not release.exists():
        raise IntegrityError("release-gone", gone(release))
    if not known.precedes(lines_of(release)):
        hint = (
            f"{release} was set back or replaced: line {known.sequence} of its {LOG} is not the one that this home has "
            f"seen. Bring back the newest copy of {release.folder}"
        )
        raise IntegrityError("set-back", hint)
    statement = release.folder / REVOCATION
    if known.revocation and not (statement.is_file() and fs.file_hash(statement) == known.revocation):
        hint = f"REVOKED: {release} was revoked, and its {REVOCATION} was removed or changed; bring the file back."
        raise IntegrityError("revoked", hint)


def all_gone(home: Path) -> list[Release]:
    """Releases that a home remembers and whose folders are not there, by name and version."""
    names = sorted(path.name.removesuffix(HEAD_SUFFIX) for path in restricted_folder(home).glob(f"*@*{HEAD_SUFFIX}"))
    known = [Release(home, *name.split("@", 1)) for name in names]
    return [release for release in known if not release.folder.exists()]
