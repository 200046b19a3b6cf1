"""Whether every byte of a bundle is what was signed: the manifest's files, the log's chain and head, every late file.

What the builder signed (manifest, head) leads to all else: the manifest has the digests of the files of `build`, the
newest line of the log those of every file since. A file that neither knows is refused like one that is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import rfc8785

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import envelopes, keys, ledger
from sm_ops.release.folder import (
    FORMAT,
    HEAD,
    LATE,
    LOG,
    MANIFEST,
    MANIFEST_SIGNED,
    POLICY,
    REVOCATION,
    WAIVERS,
    Release,
)
from sm_ops.release.reading import FolderReader, Reader

_DIGEST = re.compile(r"[0-9a-f]{64}")
_WAIVER = re.compile(WAIVERS + r"/[A-Za-z0-9_][A-Za-z0-9_.-]*\.dsse\.json")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_KEPT = {POLICY, *LATE}
"""Small files whose content decides something."""

Json = dict[str, Any]


@dataclass(frozen=True)
class File:
    """What the manifest says of a file of `build`."""

    sha256: str
    size: int


@dataclass(frozen=True)
class Manifest:
    """manifest.json: `builder` is the builder's public key (64 hexadecimal digits), `sha256` of the file itself."""

    release: str
    created: str
    builder: str
    files: dict[str, File]
    sha256: str


@dataclass(frozen=True)
class Bundle:
    """A bundle whose every byte was checked: manifest, the log's lines, and the small files that decide, by path."""

    manifest: Manifest
    entries: list[Json]
    texts: dict[str, bytes]
    files: int
    size: int


def manifest_of(data: bytes) -> Manifest:
    """A manifest from its file. Raises `IntegrityError` for one that `build` did not write."""
    try:
        value = json.loads(data)
        files = {each["path"]: File(each["sha256"], each["size"]) for each in value["files"]}
        public, release = value["builder"]["public"], f"{value['name']}@{value['version']}"
        sound = (
            rfc8785.dumps(value) + b"\n" == data
            and value["format"] == FORMAT
            and value["release"] == release
            and all(isinstance(text, str) for text in (value["name"], value["version"], value["created"]))
            and _DIGEST.fullmatch(public)
            and value["builder"]["key"] == keys.key_id(public)
            and [each["path"] for each in value["files"]] == sorted(files)
            and all(_is_buildable(path) and _is_digest(file.sha256) for path, file in files.items())
            and all(type(file.size) is int and file.size >= 0 for file in files.values())
            and POLICY in files
        )
    except Exception:
        sound = False
    if not sound:
        raise IntegrityError("bad-manifest", f"{MANIFEST} is not as a build of format {FORMAT!r} wrote it.")
    return Manifest(release, value["created"], public, files, fs.sha256(data))


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def _is_buildable(path: str) -> bool:
    """A relative path below the bundle that is none of the late files."""
    late = path in (MANIFEST, LOG, HEAD, *LATE) or path.startswith(f"{WAIVERS}/")
    return not (late or _CONTROL.search(path) or {"", ".", ".."} & set(path.split("/")))


def read_manifest(reader: Reader) -> Manifest:
    """The manifest of what a reader reads, as its builder signed it.

    Raises `InputError` where there is no release at all, `IntegrityError` where manifest or signature were changed.
    """
    data, signed = reader.read(MANIFEST), reader.read(MANIFEST_SIGNED)
    if data is None and signed is None and reader.read(LOG) is None:
        raise InputError("no-release", f"There is no release at {reader.where}: it has no {MANIFEST}.")
    if data is None or signed is None:
        raise _missing(MANIFEST if data is None else MANIFEST_SIGNED)
    manifest = manifest_of(data)
    subjects, said = said_by_builder(signed, "build", MANIFEST_SIGNED, manifest)
    if subjects != {MANIFEST: manifest.sha256} or said != {"release": manifest.release, "created": manifest.created}:
        hint = f"{MANIFEST} is not what {MANIFEST_SIGNED} signs; one of the two was changed."
        raise IntegrityError("changed-file", hint)
    return manifest


def check_builder(manifest: Manifest, builder: str | None) -> None:
    """That the one who may have built it (a public key, None: anybody) did. Raises `IntegrityError`."""
    if builder is not None and builder != manifest.builder:
        hint = (
            f"{MANIFEST} is signed by another builder ({keys.key_id(manifest.builder)[:16]}) than this home's own "
            f"({keys.key_id(builder)[:16]}). If keys/builder.pem was replaced, bring the old one back; a bundle of "
            "others is verified outside of the home's releases."
        )
        raise IntegrityError("other-builder", hint)


def check_own(release: Release) -> Bundle:
    """Read a whole release of the home and compare. Raises `IntegrityError` where it was revoked or changed."""
    if (release.folder / REVOCATION).is_file():
        raise IntegrityError("revoked", f"REVOKED: {release} was revoked; build another version.")
    reader = FolderReader(release.folder)
    manifest = read_manifest(reader)
    check_builder(manifest, keys.known_builder(release.home))
    return check(reader, manifest)


def check(reader: Reader, manifest: Manifest) -> Bundle:
    """Read a whole bundle and compare. Raises `IntegrityError` that names the first file that does not fit."""
    if "@" in reader.name and reader.name != manifest.release:
        hint = f"{reader.where} is named as one release and is another: {MANIFEST} is of {manifest.release}."
        raise IntegrityError("other-release", hint)
    entries = log_of(reader, manifest)
    late = late_of(manifest, entries)
    _check_names(reader.names(), {*manifest.files, *late, MANIFEST, LOG, HEAD})
    texts = {path: _text(reader, path, digest) for path, digest in late.items()}
    for path, file in manifest.files.items():
        found = reader.digest(path, file.size)
        if found is None:
            raise _missing(path)
        if found != file.sha256:
            raise _changed(path)
    texts[POLICY] = _text(reader, POLICY, manifest.files[POLICY].sha256)
    kept = {path: data for path, data in texts.items() if path in _KEPT or path.startswith(f"{WAIVERS}/")}
    size = sum(file.size for file in manifest.files.values()) + sum(len(texts[path]) for path in late)
    return Bundle(manifest, entries, kept, len(manifest.files) + len(late) + 3, size)


def log_of(reader: Reader, manifest: Manifest) -> list[Json]:
    """The lines of a bundle's log, whose chain and signed head hold. Raises `IntegrityError` where they do not."""
    log, head = reader.read(LOG), reader.read(HEAD)
    if log is None or head is None:
        raise _missing(LOG if log is None else HEAD)
    entries = ledger.entries(log)
    ledger.check_head(log, head, manifest.builder)
    for entry in entries:
        if entry["release"] != manifest.release:
            hint = f"{LOG}, line {entry['sequence']}: it is of {entry['release']}, not of {manifest.release}."
            raise IntegrityError("broken-log", hint)
    return entries


def late_of(manifest: Manifest, entries: list[Json]) -> dict[str, str]:
    """Late files and their digests, by the log; the manifest, which the first line may name too, must be that one.

    Raises `IntegrityError` for a file that no release has.
    """
    digests = ledger.digests(entries)
    if digests.get(MANIFEST, manifest.sha256) != manifest.sha256:
        raise IntegrityError("changed-file", f"{MANIFEST} is not what was signed; it was changed.")
    late = {path: digest for path, digest in digests.items() if path != MANIFEST}
    for path, digest in late.items():
        if not (path in LATE or _WAIVER.fullmatch(path)) or not _is_digest(digest):
            raise IntegrityError("broken-log", f"{LOG} names a file that it may not name.")
    if MANIFEST_SIGNED not in late:
        raise IntegrityError("broken-log", f"{LOG} does not name {MANIFEST_SIGNED}; it is no release's log.")
    return late


def digests_of(manifest: Manifest, entries: list[Json]) -> dict[str, str]:
    """SHA-256 of every file of a bundle by path, but for the log and its head. Raises as `late_of` does."""
    built = {path: file.sha256 for path, file in manifest.files.items()}
    return built | late_of(manifest, entries) | {MANIFEST: manifest.sha256}


def _check_names(found: Collection[str] | None, known: Collection[str]) -> None:
    """That a folder has nothing else in it; what is missing is noticed when it is read."""
    folders = {f"{parent}/" for path in known for parent in PurePosixPath(path).parents}
    for path in sorted(set(found or ()) - set(known) - folders):
        raise IntegrityError("unknown-file", f"{_shown(path)} is no file of the release; it was added.")


def _shown(path: str) -> str:
    """A path that may hold anything, for a message of one line."""
    return path if path.isprintable() else ascii(path)


def said_by_builder(file: bytes, kind: str, where: str, manifest: Manifest) -> tuple[dict[str, str], Json]:
    """Subjects and predicate of a statement that the builder signed. Raises `IntegrityError` that names `where`."""
    envelope = envelopes.read(file, where)
    if not envelopes.valid_signers(envelope, [manifest.builder], where):
        raise IntegrityError("unsigned", f"{where} is not signed; it was changed.")
    return envelopes.content(envelope, kind, where)


def _text(reader: Reader, path: str, digest: str) -> bytes:
    data = reader.read(path)
    if data is None:
        raise _missing(path)
    if fs.sha256(data) != digest:
        raise _changed(path)
    return data


def _missing(path: str) -> IntegrityError:
    return IntegrityError("missing-file", f"{path} is missing; it was removed.")


def _changed(path: str) -> IntegrityError:
    return IntegrityError("changed-file", f"{path} is not what was signed; it was changed.")
