"""Verifying a release: revoked, intact, approved, in this order; whoever has the approvers' public keys can do it.

A revoked release or a byte that is not what was signed is an `IntegrityError` that names the file. What is intact gets
a verdict: who approved it, what was checked and waived, until when it holds; and what is missing, if anything is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, IntegrityError
from sm_ops.release import approvals, clock, envelopes, index, integrity, keys, statements
from sm_ops.release.approvers import Approvers, Key
from sm_ops.release.folder import DECISION, INDEX, MANIFEST, REJECTION, REVOCATION, Release
from sm_ops.release.integrity import Bundle, Manifest
from sm_ops.release.reading import FolderReader, Reader
from sm_ops.release.statements import Statements
from sm_ops.release.states import Name

WAIVING_ROLE = "privacy"

Json = dict[str, Any]


@dataclass(frozen=True)
class Waived:
    """A check that was waived: by whom, and why."""

    check: str
    by: str
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What holds of an intact release.

    `manifest` is the SHA-256 of manifest.json, `builder` the id of the key that built it, `files`, `bytes` and `lines`
    (of the log) how much was compared, `checks` the number of checks by status, `expires` when the request or the
    published release ends, `missing` sentences on what an approved release would have (none: it is approved),
    `notices` what else is worth knowing.
    """

    release: str
    state: Name
    manifest: str
    builder: str
    files: int
    bytes: int
    lines: int
    checks: dict[str, int]
    waived: list[Waived]
    approved_by: list[str]
    published: str | None
    expires: str | None
    missing: list[str]
    notices: list[str]

    def to_json(self) -> Json:
        """The verdict for a program."""
        return asdict(self)

    def with_notice(self, sentence: str) -> Verdict:
        """The same, and one more thing to know."""
        return replace(self, notices=[*self.notices, sentence])

    def require_approved(self) -> None:
        """Raises `ApprovalError` where something is missing."""
        if self.missing:
            raise ApprovalError("not-approved", f"{self.release} is not approved. {' '.join(self.missing)}")


def verify(
    reader: Reader, approvers: Approvers | None, at: datetime | None = None, builder: str | None = None
) -> Verdict:
    """Verify what a reader reads, at a time (default: now).

    Without `approvers` nobody's approval counts. `builder` is the one public key that may have built it, where that is
    known. Raises `IntegrityError` for what is revoked or changed, naming the file, `InputError` where nothing can be
    read.
    """
    at = at or clock.now()
    refuse_revoked(reader, approvers)
    manifest = integrity.read_manifest(reader)
    integrity.check_builder(manifest, builder)
    listed, notices = _listed(reader, manifest)
    bundle = integrity.check(reader, manifest)
    said = statements.read(bundle)
    waived, unfounded = _waived(bundle, said, approvers)
    state, approved_by, missing = _approval(bundle, said, approvers, at)
    decisive = said.publication or said.decision or {}
    expires = decisive.get("expires")
    if said.publication:
        state = "superseded" if listed == "superseded" else "published"
    if expires and clock.told(at) > expires and state != "rejected":
        state = "expired"
        missing += [f"It was published and expired on {expires}."] if said.publication else []
    if said.verdict == "fail":
        missing.append("Its checks failed.")
    return Verdict(
        release=manifest.release,
        state=state,
        manifest=manifest.sha256,
        builder=keys.key_id(manifest.builder),
        files=bundle.files,
        bytes=bundle.size,
        lines=len(bundle.entries),
        checks=dict(sorted(Counter(check["status"] for check in said.checks).items())),
        waived=waived,
        approved_by=approved_by,
        published=said.publication["published"] if said.publication else None,
        expires=expires,
        missing=missing + unfounded,
        notices=notices,
    )


def verify_own(release: Release, approvers: Approvers | None) -> Verdict:
    """Verify a release of the home, which is held, now; as every verb does before it looks at anything else."""
    verdict = verify(FolderReader(release.folder), approvers, builder=keys.known_builder(release.home))
    return verdict.with_notice(keys.lost(release.home)) if keys.is_lost(release.home) else verdict


def refuse_revoked(reader: Reader, approvers: Approvers | None) -> None:
    """Raise `IntegrityError` for a release that was revoked: by whom, when and why."""
    file = reader.read(REVOCATION)
    if file is None:
        return
    subjects, said = envelopes.content(envelopes.read(file, REVOCATION), "revocation", REVOCATION)
    manifest = reader.read(MANIFEST)
    of = said.get("manifest") if manifest is None else fs.sha256(manifest)
    texts = [said.get(key) for key in ("release", "reason", "time")]
    if subjects != {MANIFEST: of} or not all(isinstance(text, str) for text in texts):
        raise IntegrityError("other-statement", f"{REVOCATION} is not of this release; it was changed.")
    by = _names(_signers(file, approvers, REVOCATION)) or "a key that is not known here"
    raise IntegrityError("revoked", f"REVOKED: {said['release']}, on {said['time']} by {by}: {said['reason']}")


def _listed(reader: Reader, manifest: Manifest) -> tuple[str | None, list[str]]:
    """The state that the index beside the bundle gives it (None: no index, or not listed), and what is odd about it.

    Raises `IntegrityError` for an index that was changed, and where it says that the release is revoked or another one.
    """
    file = reader.beside(INDEX)
    if file is None:
        return None, []
    where = f"the {INDEX} beside it"
    found = index.parsed(file, where)
    entry = found.entry(manifest.release)
    if entry is None:
        return None, [f"{where.capitalize()} does not list it."]
    if entry["state"] == "revoked":
        raise IntegrityError("revoked", f"REVOKED: {manifest.release}, as {where} says.")
    if entry["manifest"] != manifest.sha256:
        raise IntegrityError("other-release", f"{MANIFEST} is not the one that {where} lists; it was replaced.")
    same = found.builder == manifest.builder
    return entry["state"], [] if same else [f"{where.capitalize()} was last signed by another builder."]


def _waived(bundle: Bundle, said: Statements, approvers: Approvers | None) -> tuple[list[Waived], list[str]]:
    """Checks that were waived, and what a waiver lacks, in sentences."""
    found, unfounded = [], []
    for check in (check["name"] for check in said.checks if check["waived"]):
        path = statements.waiver_path(check)
        by = _signers(bundle.texts[path], approvers, path)
        found.append(Waived(check, _names(by), said.waivers[check]["reason"]))
        then = approvers.at(said.waivers[check]["time"]) if approvers else {}
        if approvers and not any(WAIVING_ROLE in then[key.id].roles for key in by if key.id in then):
            unfounded.append(f"{path} is not signed by a key that had the role {WAIVING_ROLE}.")
    return found, unfounded


def _approval(
    bundle: Bundle, said: Statements, approvers: Approvers | None, at: datetime
) -> tuple[Name, list[str], list[str]]:
    """The state up to an approval, whose approvals count, and what is missing, in sentences."""
    if said.decision is None:
        return ("checked" if said.verdict else "built"), [], ["Nobody has been asked to approve it."]
    if approvers is None:
        unknown = "Nobody's approval could be checked without a list of approvers; name one with --approvers FILE."
        return "requested", [], [unknown]
    approval = approvals.counted(bundle.texts[DECISION], bundle.entries, approvers, said.policy, at)
    by = [key.name for key in approval.by]
    if said.rejection:
        who = _names(_signers(bundle.texts[REJECTION], approvers, REJECTION)) or "a key that is not known here"
        return "rejected", by, [f"It was rejected by {who}.", *approval.missing]
    return ("requested" if approval.missing else "approved"), by, approval.missing


def _signers(file: bytes, approvers: Approvers | None, where: str) -> list[Key]:
    """Known keys that signed. Raises `IntegrityError` where a known key's signature does not fit."""
    known = {key.id: key for key in approvers.keys} if approvers else {}
    publics = [key.public for key in known.values()]
    return [known[key] for key in envelopes.known_signers(envelopes.read(file, where), publics, where)]


def _names(people: list[Key]) -> str:
    return " and ".join(sorted(key.name for key in people))
