"""A tiny release made by hand, step by step, without a run and without the verbs: whatever a test needs it to be.

    release = make_bundle(home)                       # built
    add_checks(release); request(release); approve(release, "ben", "cleo"); add_publication(release)
    release = approved(home)                          # all of this but the publication

Ada asks, Ben (privacy) and Cleo (data) approve; their keys follow from their names. Every step is one change through
the ledger, and its statements are as the documents say, so that verbs can be tried from any state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rfc8785
import yaml

from sm_ops.core import fs
from sm_ops.release import approvers, clock, envelopes, folder, keys, ledger
from sm_ops.release.folder import Release
from sm_ops.release.ledger import Actor

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

ROLES = {"ada": ["engineer"], "ben": ["privacy"], "cleo": ["data"]}
ROWS = [{"id": f"r{number}", "text": f"note {number}: call [NAME] back"} for number in range(3)]
RATE = {"k": 3, "n": 3, "low": None, "high": None}
POLICY: dict[str, Any] = {
    "format": "policy/1",
    "approvals": {"count": 2, "roles": ["privacy"], "days": 14},
    "release_days": 365,
    "checks": {},
}
LATE_SUBJECTS = (folder.MANIFEST, folder.CHECKS, folder.POLICY, folder.CARD, folder.REPORT)


def signer(name: str) -> CryptoSigner:
    """The key of a person, the same in every run."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(fs.sha256(name.encode())))
    return keys.signer_of(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def canonical(value: Any) -> bytes:
    return rfc8785.dumps(value) + b"\n"


def make_approvers(
    home: Path, roles: Mapping[str, list[str]] | None = None, count: int = 2, needs: Iterable[str] = ("privacy",)
) -> Path:
    """HOME/releases/approvers.yaml with the keys of the people, all there since the start of the year."""
    people = sorted((roles or ROLES).items(), key=lambda person: not set(needs) & set(person[1]))
    changes: list[dict[str, Any]] = [{"kind": "require", "count": count, "roles": list(needs)}]
    for name, has in people:
        changes.append({"kind": "add", "name": name, "roles": list(has), "public": keys.public_of(signer(name))})
    found = approvers.EMPTY
    for change in changes:
        payload = approvers.statement(found, change, "2026-01-01T00:00:00Z")
        by = [signer(key.name) for key in found.now.present.values()] if found.now.guarded else []
        found = approvers.next_after(found, envelopes.read(envelopes.signed(payload, by), "made"), "made")
    path = approvers.path_of(home)
    fs.write_atomic(path, found.file())
    return path


def make_bundle(
    home: Path,
    name: str = "notes",
    version: str = "1",
    rows: Iterable[Mapping[str, Any]] = ROWS,
    policy: Mapping[str, Any] = POLICY,
    extra: Mapping[str, bytes] | None = None,
    zeros: int = 0,
) -> Release:
    """A built release: data, evidence, manifest, first line of the log, origin; and approvers, if there are none.

    `extra` are more files of the build, `zeros` the size of data/zeros.bin, which takes no room on the disk.
    """
    release = Release(home, name, version)
    shard = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    files = {
        f"{folder.DATA}/train.jsonl": shard,
        folder.CONFIG: canonical({"about": {"title": "Notes", "description": "Short notes.", "licence": "CC-BY-4.0"}}),
        folder.POLICY: yaml.safe_dump(dict(policy), sort_keys=False).encode(),
        folder.LINEAGE: canonical({"format": "lineage/1", "steps": []}),
        folder.PACKAGES: canonical({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": []}),
        folder.CROISSANT: canonical({"@type": "sc:Dataset", "name": name, "recordSet": []}),
        folder.FRONTIER: b'<svg xmlns="http://www.w3.org/2000/svg"/>\n',
        f"{folder.EVIDENCE}/redaction.json": canonical({"records": 3, "spans": dict(RATE)}),
        **(extra or {}),
    }
    builder = keys.builder(home)
    created = clock.told(clock.now())
    listed = [
        {"path": path, "sha256": fs.sha256(data), "size": len(data)}
        | ({"rows": data.count(b"\n")} if path.startswith(f"{folder.DATA}/") else {})
        for path, data in sorted(files.items())
    ]
    if zeros:
        path = release.folder / folder.DATA / "zeros.bin"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.truncate(zeros)
        listed.append({"path": "data/zeros.bin", "sha256": fs.file_hash(path), "size": zeros, "rows": 0})
        listed.sort(key=lambda each: each["path"])
    manifest = canonical(
        {
            "format": folder.FORMAT,
            "release": str(release),
            "name": name,
            "version": version,
            "created": created,
            "method": "redacted",
            "builder": {"key": builder.public_key.keyid, "public": keys.public_of(builder)},
            "files": listed,
        }
    )
    said = {"release": str(release), "created": created}
    signed = _envelope("build", {folder.MANIFEST: fs.sha256(manifest)}, said, builder)
    late = {folder.MANIFEST: manifest, folder.MANIFEST_SIGNED: signed}
    lines = ledger.first_lines(str(release), builder, late, created)
    for path, data in {**files, **late, **lines}.items():
        fs.write_atomic(release.folder / path, data)
    origin = {"format": "origin/1", "method": "redacted", "run": None, "sources": {}, "places": None, "values": []}
    fs.write_json(release.origin, origin | {"vault": None})
    if not approvers.path_of(home).is_file():
        make_approvers(home)
    return release


def add_checks(release: Release, verdict: str = "pass", waived: Mapping[str, str] | None = None) -> None:
    """checks.json, card and report; `waived` is the reason of Ben by check."""
    waived = waived or {}
    checks = [
        {
            "name": check,
            "severity": "block",
            "status": status,
            "waived": {"by": "ben", "reason": waived[check]} if check in waived else None,
            "sentence": f"{check}: {status}",
            "measured": {},
        }
        for check, status in [*(dict.fromkeys(waived, "fail")).items(), ("schema", verdict)]
    ]
    files = {
        f"{folder.WAIVERS}/{check}.dsse.json": _envelope(
            "waiver",
            {folder.MANIFEST: _digest(release, folder.MANIFEST)},
            {"release": str(release), "check": check, "reason": reason, "time": clock.told(clock.now())},
            signer("ben"),
        )
        for check, reason in waived.items()
    }
    for path, data in files.items():
        _record(release, "waive", "ben", {path: data})
    value = {"format": "checks/1", "release": str(release), "verdict": verdict, "checks": checks}
    said = {
        folder.CHECKS: canonical(value),
        folder.CARD: f"---\nlicense: cc-by-4.0\n---\n# {release}\n".encode(),
        folder.REPORT: f"<!doctype html><title>{release}</title>\n".encode(),
    }
    _record(release, "check", None, said)


def request(release: Release, by: str = "ada", days: float = 14, requested: datetime | None = None) -> None:
    """The request of Ada; `requested` may lie in the past, so that it has expired."""
    start = requested or clock.now()
    said = {
        "release": str(release),
        "decision": "release",
        "reason": "the notes are needed outside",
        "requester": signer(by).public_key.keyid,
        "requested": clock.told(start),
        "expires": clock.told(start + timedelta(days=days)),
        "approvals": {"count": 2, "roles": ["privacy"]},
    }
    subjects = {path: _digest(release, path) for path in LATE_SUBJECTS}
    files: dict[str, bytes | None] = {folder.DECISION: _envelope("decision", subjects, said, signer(by))}
    if (release.folder / folder.REJECTION).exists():
        files[folder.REJECTION] = None
    _record(release, "request", by, files)


def approve(release: Release, *names: str) -> None:
    """Signatures over exactly what was requested."""
    for name in names:
        decision = (release.folder / folder.DECISION).read_bytes()
        _record(release, "approve", name, {folder.DECISION: envelopes.with_signature(decision, signer(name))})


def reject(release: Release, by: str = "ben") -> None:
    said = {"release": str(release), "reason": "a name was left in", "time": clock.told(clock.now())}
    subjects = {
        folder.MANIFEST: _digest(release, folder.MANIFEST),
        folder.DECISION: _digest(release, folder.DECISION),
    }
    _record(release, "reject", by, {folder.REJECTION: _envelope("rejection", subjects, said, signer(by))})


def add_publication(release: Release, published: datetime | None = None, days: float = 365) -> None:
    """The statement that it is out, as if it lay somewhere; no marker, nothing uploaded."""
    start = published or clock.now()
    last = (release.folder / folder.LOG).read_bytes().splitlines(keepends=True)[-1]
    said = {
        "release": str(release),
        "published": clock.told(start),
        "expires": clock.told(start + timedelta(days=days)),
        "log": fs.sha256(last),
    }
    subjects = {path: _digest(release, path) for path in (folder.MANIFEST, folder.DECISION)}
    signed = _envelope("publication", subjects, said, keys.builder(release.home))
    _record(release, "publish", None, {folder.PUBLICATION: signed})


def revoke(release: Release, by: str = "ben") -> None:
    manifest = _digest(release, folder.MANIFEST)
    said = {
        "release": str(release),
        "manifest": manifest,
        "reason": "a name was found",
        "time": clock.told(clock.now()),
    }
    signed = _envelope("revocation", {folder.MANIFEST: manifest}, said, signer(by))
    _record(release, "revoke", by, {folder.REVOCATION: signed})


def put(release: Release, path: str, data: bytes) -> None:
    """Any file, as the builder could record it."""
    _record(release, "check", None, {path: data})


def approved(home: Path, name: str = "notes", version: str = "1", **options: Any) -> Release:
    """A release that Ben and Cleo approved."""
    release = make_bundle(home, name, version, **options)
    add_checks(release)
    request(release)
    approve(release, "ben", "cleo")
    return release


def _digest(release: Release, path: str) -> str:
    return fs.file_hash(release.folder / path)


def _envelope(kind: str, subjects: Mapping[str, str], predicate: dict[str, Any], by: CryptoSigner) -> bytes:
    return envelopes.signed(envelopes.statement(kind, subjects, predicate), [by])


def _record(release: Release, action: str, by: str | None, files: Mapping[str, bytes | None]) -> None:
    owner = Actor.of(signer(by), by) if by else Actor.of(keys.builder(release.home), keys.BUILDER)
    with ledger.opened(release):
        ledger.record(release, action, owner, files)
