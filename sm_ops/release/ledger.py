"""The log of a release, a chain of lines with a signed head; and changes to its files that happen whole or not at all.

A line is canonical JSON: `sequence` (from 1), `previous` (SHA-256 of the line before with its line's end, 64 zeros for
the first), `time`, `release`, `actor` (`name`, `key`: a key's id), `action` (the verb), `files` (SHA-256 by relative
path of what the verb wrote, null for what it removed) and, where the verb has more to say, `note`. The head is the
builder's signed statement of the newest line: `sequence` and the line's digest.

A change is prepared in a folder (the new files, the whole new log, its head) that one rename makes valid; then its
files are moved into the bundle. Whoever opens the release next finishes what a killed command left, so a reader under
the lock sees all of a change or nothing. No line is added to a log whose head is not the home's own, or that does not
follow from what the home remembers of it: what was cut off would not be missed any more.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rfc8785

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import clock, envelopes, keys, remembered
from sm_ops.release.folder import HEAD, LOG, MANIFEST, REVOCATION, Release, locked

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner

START = "0" * 64
_FILES, _REMOVED = "files", "removed.json"
_FIELDS = {"sequence", "previous", "time", "release", "actor", "action", "files"}

Json = dict[str, Any]


@dataclass(frozen=True)
class Actor:
    """Who acts: the name of a key, and its id."""

    name: str
    key: str

    @classmethod
    def of(cls, signer: CryptoSigner, name: str) -> Actor:
        """The owner of a signer."""
        return cls(name, signer.public_key.keyid)


@contextmanager
def opened(release: Release) -> Iterator[None]:
    """Hold a release; a change that a killed command had prepared is finished first.

    Raises `IntegrityError` where the bundle was removed, set back or replaced since this home has seen it.
    """
    with held(release):
        _recall(release)
        _learn(release)
        yield


@contextmanager
def held(release: Release) -> Iterator[None]:
    """`opened`, whatever became of the bundle."""
    with locked(release):
        _finish(release)
        yield


@contextmanager
def looked_at(release: Release) -> Iterator[None]:
    """Hold a release to read it: `opened`, or nothing at all where the home cannot be written to.

    Raises `InputError` where a change would have to be finished first and cannot be.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(opened(release))
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            if _prepared(release).is_dir():
                hint = f"A killed command left a change of {release} half done; {release.home} cannot be written to."
                raise InputError("unfinished-change", f"{hint} Run the command where it can.") from None
            _recall(release)
        yield


def unfinished_folder(release: Release) -> Path:
    """A new folder for what may become of a release by one rename; `opened` removes what a killed command left."""
    release.work.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=release.work, prefix=f"{release}~part-"))


def entries(log: bytes, where: str = LOG) -> list[Json]:
    """The lines of a log, checked as a chain.

    Raises `IntegrityError` that names the line where one was removed, changed, reordered or cut.
    """
    found: list[Json] = []
    previous, time = START, ""
    for number, line in enumerate(log.splitlines(keepends=True), start=1):
        entry = _entry(line)
        if entry is None or entry["sequence"] != number or entry["previous"] != previous or entry["time"] < time:
            raise IntegrityError("broken-log", f"{where}, line {number}: the chain is broken; lines were changed.")
        found.append(entry)
        previous, time = fs.sha256(line), entry["time"]
    if not found:
        raise IntegrityError("broken-log", f"{where} is empty; its lines were removed.")
    return found


def _entry(line: bytes) -> Json | None:
    try:
        entry = json.loads(line)
        whole = line == rfc8785.dumps(entry) + b"\n" and _is_entry(entry)
    except Exception:
        return None
    return entry if whole else None


def _is_entry(entry: Json) -> bool:
    """Whether a line says what every line says; raises where it is of another shape altogether."""
    clock.read(entry["time"])
    texts = (entry["previous"], entry["time"], entry["release"], entry["action"], *entry["actor"].values())
    return (
        entry.keys() - {"note"} == _FIELDS
        and entry["actor"].keys() == {"name", "key"}
        and type(entry["sequence"]) is int
        and all(isinstance(text, str) for text in texts)
        and all(digest is None or isinstance(digest, str) for digest in entry["files"].values())
        and isinstance(entry.get("note", {}), dict)
    )


def check_head(log: bytes, head: bytes, public: str) -> None:
    """That the signed head (by the key `public`) is the newest line. Raises `IntegrityError` for a cut log or head."""
    envelope = envelopes.read(head, HEAD)
    envelopes.valid_signers(envelope, [public], HEAD)
    subjects, predicate = envelopes.content(envelope, "head", HEAD)
    lines = log.splitlines(keepends=True)
    if not envelope.signatures or predicate.get("sequence") != len(lines) or subjects != {LOG: fs.sha256(lines[-1])}:
        raise IntegrityError("broken-log", f"{LOG} does not end with the line that {HEAD} names; lines are missing.")


def digests(found: list[Json]) -> dict[str, str]:
    """What the files that the log speaks of must be: SHA-256 by relative path, by the last line on each."""
    last: dict[str, str | None] = {}
    for entry in found:
        last |= entry["files"]
    return {path: digest for path, digest in last.items() if digest is not None}


def read_log(release: Release) -> list[Json]:
    """The lines of a release's log; the chain is checked, the head is not."""
    return entries((release.folder / LOG).read_bytes(), f"{release}/{LOG}")


def first_lines(release: str, builder: CryptoSigner, files: Mapping[str, bytes], time: str) -> dict[str, bytes]:
    """Log and head of a bundle that is just being built; `files` are those of the log's first line."""
    actor = Actor.of(builder, keys.BUILDER)
    line = _line([], release, "build", actor, {path: fs.sha256(data) for path, data in files.items()}, time, None)
    return {LOG: line, HEAD: _head(builder, 1, line)}


def record(
    release: Release,
    action: str,
    actor: Actor,
    files: Mapping[str, bytes | None],
    note: Json | None = None,
) -> Json:
    """Write files (None: remove) and the line that says so, together or not at all; the line is returned.

    The release must be `opened`. Raises `InputError` when the clock was set back or the builder's key is missing,
    `IntegrityError` when the log was changed or is another builder's.
    """
    builder = keys.builder(release.home)
    log = (release.folder / LOG).read_bytes()
    found = entries(log, f"{release}/{LOG}")
    check_head(log, (release.folder / HEAD).read_bytes(), keys.public_of(builder))
    time = clock.told(clock.after(found[-1]["time"]))
    written = {path: None if data is None else fs.sha256(data) for path, data in files.items()}
    line = _line(found, str(release), action, actor, written, time, note)
    _prepare(release, {**files, LOG: log + line, HEAD: _head(builder, len(found) + 1, line)})
    _finish(release)
    return json.loads(line)


def record_revocation(release: Release, actor: Actor, statement: bytes, note: Json) -> None:
    """Write a revocation, which must always be possible, and the line that says so where one can be added.

    Where the builder's key is missing or another one, or the log was changed, removed or set back, the statement stands
    for itself, as it does for every reader; then the home remembers it, and the log as it is. The release is `held`.
    """
    try:
        remembered.check(release)
        record(release, "revoke", actor, {REVOCATION: statement}, note)
        return
    except InputError as error:
        if error.code != keys.LOST:
            raise
    except (IntegrityError, FileNotFoundError):
        pass
    fs.write_atomic(release.folder / REVOCATION, statement)
    remembered.keep(release, remembered.head_of(remembered.lines_of(release), fs.sha256(statement)))


def next_time(release: Release) -> datetime:
    """The time of the log's next line; now, where the log cannot be read. Raises `InputError` for a clock set back."""
    try:
        return clock.after(read_log(release)[-1]["time"])
    except (IntegrityError, FileNotFoundError):
        return clock.now()


def _recall(release: Release) -> None:
    """That the bundle is what the home remembers. Raises `IntegrityError` that names the line of a damaged log."""
    try:
        remembered.check(release)
    except IntegrityError:
        if release.exists():
            _sound(release)
        raise


def _sound(release: Release) -> list[Json]:
    """The lines of a log whose chain and head hold. Raises `IntegrityError` where they do not."""
    try:
        log, found = (release.folder / LOG).read_bytes(), read_log(release)
        public = keys.known_builder(release.home) or fs.read_json(release.folder / MANIFEST)["builder"]["public"]
        check_head(log, (release.folder / HEAD).read_bytes(), public)
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        hint = f"Of {release} one of {MANIFEST}, {LOG} and {HEAD} is missing or damaged."
        raise IntegrityError("broken-log", hint) from None
    return found


def _learn(release: Release) -> None:
    """Remember the newest line of a sound log that people have acted on and that follows from what is remembered."""
    known, lines = remembered.of(release), remembered.lines_of(release)
    head = remembered.head_of(lines, known.revocation if known else None)
    if head == known or not lines or (known and not known.precedes(lines)):
        return
    with suppress(IntegrityError):
        if any(entry["actor"]["name"] != keys.BUILDER for entry in _sound(release)):
            with suppress(OSError):  # a home that may only be read, or a full disk: it is learnt the next time
                remembered.keep(release, head)


def _line(
    found: list[Json],
    release: str,
    action: str,
    actor: Actor,
    files: Mapping[str, str | None],
    time: str,
    note: Json | None,
) -> bytes:
    previous = fs.sha256(rfc8785.dumps(found[-1]) + b"\n") if found else START
    entry = {
        "sequence": len(found) + 1,
        "previous": previous,
        "time": time,
        "release": release,
        "actor": {"name": actor.name, "key": actor.key},
        "action": action,
        "files": dict(files),
    }
    return rfc8785.dumps(entry | ({"note": note} if note else {})) + b"\n"


def _head(builder: CryptoSigner, sequence: int, line: bytes) -> bytes:
    return envelopes.signed(envelopes.statement("head", {LOG: fs.sha256(line)}, {"sequence": sequence}), [builder])


def _prepared(release: Release) -> Path:
    return release.work / f"{release}~change"


def _prepare(release: Release, files: Mapping[str, bytes | None]) -> None:
    unfinished = unfinished_folder(release)
    try:
        for path, data in files.items():
            if data is not None:
                fs.write_atomic(unfinished / _FILES / path, data)
        fs.write_json(unfinished / _REMOVED, sorted(path for path, data in files.items() if data is None))
        os.rename(unfinished, _prepared(release))
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    fs.fsync(release.work)


def _finish(release: Release) -> None:
    """Move what a prepared change holds into the bundle; doing it again from any point ends the same."""
    prepared = _prepared(release)
    if prepared.is_dir():
        for path in fs.read_json(prepared / _REMOVED):
            (release.folder / path).unlink(missing_ok=True)
        for path, source in fs.files_below(prepared / _FILES):
            target = release.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, target)
            fs.fsync(target.parent)
        _learn(release)
        os.rename(prepared, release.work / f"{release}~part-done")
    for abandoned in release.work.glob(f"{release}~part-*"):  # by a killed command: whoever is here holds the lock
        shutil.rmtree(abandoned, ignore_errors=True)
