"""Changing who may approve: a change is made at once while keys are free to add, else proposed until enough signed.

There is one open proposal at a time, HOME/releases/.work/approvers.next.dsse.json; another takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import approvers, clock, envelopes
from sm_ops.release.approvers import Approvers, Version
from sm_ops.release.folder import WORK, locked_file, releases_folder

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner

Json = dict[str, Any]


@dataclass(frozen=True)
class Proposal:
    """A change of the approvers in words, the version it would make, and what it lacks: nothing when it was made.

    `digest` is the SHA-256 of what is signed.
    """

    words: str
    version: int
    proposed: str
    digest: str
    signed: list[str]
    lacks: list[str]


def add(
    home: Path, name: str, public: str, roles: Sequence[str], signers: Iterable[CryptoSigner] = ()
) -> Proposal | None:
    """Add a key, or give a present one other roles; None where it has them."""
    if any((key.name, key.public) == (name, public) for key in approvers.of(home).now.present.values()):
        return _propose(home, {"kind": "roles", "name": name, "roles": list(roles)}, signers)
    return _propose(home, {"kind": "add", "name": name, "roles": list(roles), "public": public}, signers)


def remove(home: Path, name: str, signers: Iterable[CryptoSigner] = ()) -> Proposal | None:
    """Remove a key: from now on it counts for nothing new. None where it was removed."""
    return _propose(home, {"kind": "remove", "name": name}, signers)


def require(
    home: Path, count: int, roles: Sequence[str] | None = None, signers: Iterable[CryptoSigner] = ()
) -> Proposal | None:
    """Ask for another number of signatures, or other roles among them (default: those of now); None where it is so."""
    roles = approvers.of(home).roles if roles is None else roles
    return _propose(home, {"kind": "require", "count": count, "roles": list(roles)}, signers)


def opened(home: Path) -> Proposal | None:
    """The proposal that waits for signatures."""
    found = approvers.of(home)
    file = _file(home)
    if not file.is_file():
        return None
    return _told(found, file.read_bytes(), str(file))


def sign(home: Path, digest: str, signer: CryptoSigner) -> Proposal:
    """Sign the open proposal of that digest, and make its change when enough have signed.

    Raises `InputError` when another proposal or none is open, `ApprovalError` for a key that may not sign.
    """
    with _locked(home):
        found, file = approvers.of(home), _file(home)
        open_now = opened(home)
        if open_now is None or open_now.digest != digest:
            told = "none is open" if open_now is None else f"the open one has {open_now.digest}"
            raise InputError("no-proposal", f"There is no proposal {digest[:16]}: {told}; see: sm-ops release key ls")
        found.person(signer.public_key.keyid)
        return _put(home, found, envelopes.with_signature(file.read_bytes(), signer))


def _propose(home: Path, change: Json, signers: Iterable[CryptoSigner]) -> Proposal | None:
    with _locked(home):
        found, file = approvers.of(home), _file(home)
        if _is_so(found.now, change):
            return None
        signers = list(signers) if found.now.guarded else []
        if found.now.guarded and not signers:
            hint = f"Changes need {found.threshold} signatures by now; propose it with your key: --key FILE"
            raise InputError("needs-key", hint)
        for signer in signers:
            found.person(signer.public_key.keyid)
        if file.is_file():
            _, said = envelopes.content(envelopes.read(file.read_bytes(), str(file)), "approvers", str(file))
            if said["change"] == change and said["version"] == found.now.number + 1:
                return _put(home, found, _signed_by(file.read_bytes(), signers))
        payload = approvers.statement(found, change, clock.told(clock.after(found.now.time or None)))
        return _put(home, found, envelopes.signed(payload, signers))


def _is_so(version: Version, change: Json) -> bool:
    """Whether a change would change nothing."""
    match change["kind"]:
        case "roles":
            now = next(key for key in version.present.values() if key.name == change["name"])
            return set(now.roles) == set(change["roles"])
        case "remove":
            present = {key.name for key in version.present.values()}
            return change["name"] in {key.name for key in version.keys} - present
        case "require":
            return (version.threshold, set(version.roles)) == (change["count"], set(change["roles"]))
        case _:
            return False


def _signed_by(file: bytes, signers: Iterable[CryptoSigner]) -> bytes:
    for signer in signers:
        file = envelopes.with_signature(file, signer)
    return file


def _put(home: Path, found: Approvers, file: bytes) -> Proposal:
    """Keep a proposal, or make its change when nothing lacks."""
    told = _told(found, file, "the proposal")
    if told is None:
        raise IntegrityError("approvers-changed", "The proposal does not follow from the approvers; propose it again.")
    if told.lacks:
        fs.write_atomic(_file(home), file)
    else:
        after = approvers.next_after(found, envelopes.read(file, "the proposal"), "the proposal")
        fs.write_atomic(approvers.path_of(home), after.file())
        _file(home).unlink(missing_ok=True)
        approvers.of(home)
    return told


def _told(found: Approvers, file: bytes, where: str) -> Proposal | None:
    """A proposal's file in words; None where it was made for an earlier version."""
    envelope = envelopes.read(file, where)
    _, said = envelopes.content(envelope, "approvers", where)
    if said["version"] != found.now.number + 1:
        return None
    after = approvers.next_after(found, envelope, where)
    lacks = approvers.lacks_of(found.now, envelope, where)
    signed = [found.now.present[key].name for key in sorted(envelope.signatures)]
    words = approvers.words(said["change"])
    return Proposal(words, after.now.number, said["time"], fs.sha256(envelope.payload), signed, lacks)


def _file(home: Path) -> Path:
    return releases_folder(home) / WORK / "approvers.next.dsse.json"


def _locked(home: Path):
    return locked_file(home / "locks" / "release-approvers.lock", "the approvers")
