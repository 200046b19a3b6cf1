"""fetch: bring a release from a place, whole and compared with its digests; `verify` then says what it is worth."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, InputError, IntegrityError
from sm_ops.core.registry import did_you_mean
from sm_ops.release import clock, folder, index, integrity, ledger
from sm_ops.release.folder import HEAD, LOG, MANIFEST, REVOCATION
from sm_ops.storage.places import Place


@dataclass(frozen=True)
class Fetched:
    """A release that was fetched: its folder, its state by the index, and whether it was there before."""

    folder: Path
    state: str
    already: bool


def fetch(place: Place, text: str, out: Path) -> Fetched:
    """Fetch the release `NAME@VERSION` into the folder `out`, which is there when all of it is.

    A second call goes on where a first one was interrupted. Raises `IntegrityError` for a revoked release and for
    content that is not what manifest and log say, `ApprovalError` for an expired one, `InputError` for an unknown one.
    """
    release = str(folder.named(Path(), text))
    found = index.read(place)
    entry = found.entry(release)
    if entry is None:
        near = did_you_mean(release, (each["release"] for each in found.releases))
        raise InputError("no-release", f"{place.text} has no release {release}; {near}.")
    _refuse(place, entry)
    files = _files(place, entry)
    if out.exists():
        if _same(out, files):
            return Fetched(out, entry["state"], already=True)
        raise InputError(
            "out-exists", f"{out} is there and is not {release} as it was published; choose another --out."
        )
    unfinished = out.absolute().with_name(f".{out.name}.fetching")
    for path, digest in files.items():
        target = unfinished / path
        if not (target.is_file() and fs.file_hash(target) == digest):
            _save(_read(place, entry["path"] + path), target, digest, f"{place.text}/{entry['path']}{path}")
    while others := folder.files_of(unfinished).keys() - files.keys():
        for path in others:
            _remove(unfinished / path)
    os.rename(unfinished, out)
    return Fetched(out, entry["state"], already=False)


def _remove(path: Path) -> None:
    """What an earlier call for another release left: a file, or the folder that is empty then."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink()


def _refuse(place: Place, entry: index.Entry) -> None:
    release = entry["release"]
    if entry["state"] == "revoked" or place.get(entry["path"] + REVOCATION) is not None:
        raise IntegrityError("revoked", f"REVOKED: {release} was revoked by its publisher; do not use it.")
    if entry["state"] == "expired" or entry["expires"] < clock.told(clock.now()):
        raise ApprovalError("expired", f"{release} expired on {entry['expires']}; ask for a newer version.")


def _files(place: Place, entry: index.Entry) -> dict[str, str]:
    """SHA-256 of every file of the release by path: what manifest and log say, and these themselves."""
    where = f"{place.text}/{entry['path']}"
    small = {name: _small(place, entry["path"] + name, where + name) for name in (MANIFEST, LOG, HEAD)}
    if fs.sha256(small[MANIFEST]) != entry["manifest"]:
        raise IntegrityError("other-content", f"{where}{MANIFEST} is not the one that the index names; it was changed.")
    manifest = integrity.manifest_of(small[MANIFEST])
    found = integrity.digests_of(manifest, ledger.entries(small[LOG], where + LOG))
    return found | {name: fs.sha256(data) for name, data in small.items()}


def _small(place: Place, key: str, where: str) -> bytes:
    found = place.get(key)
    if found is None:
        raise IntegrityError("missing-file", f"{where} is missing, although the index names its release.")
    return found[0]


def _same(out: Path, files: dict[str, str]) -> bool:
    present = folder.files_of(out) if out.is_dir() else {}
    return present.keys() == files.keys() and all(fs.file_hash(present[path]) == files[path] for path in files)


def _read(place: Place, key: str) -> Iterator[bytes]:
    try:
        yield from place.read(key)
    except FileNotFoundError:
        raise IntegrityError("missing-file", f"{place.text}/{key} is missing, although its release names it.") from None


def _save(pieces: Iterator[bytes], target: Path, digest: str, where: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    seen = hashlib.sha256()
    with fs.replacing(target) as unfinished:
        with unfinished.open("wb") as stream:
            for piece in pieces:
                seen.update(piece)
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        if seen.hexdigest() != digest:
            raise IntegrityError("other-content", f"{where} is not what was published; it was changed.")
