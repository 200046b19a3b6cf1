"""approve: sign exactly the statement that was requested, after the bundle has been verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, InputError
from sm_ops.release import approvers, envelopes, ledger, states
from sm_ops.release.approvers import Approvers
from sm_ops.release.folder import CARD, CHECKS, DECISION, REPORT, Release
from sm_ops.release.ledger import Actor
from sm_ops.release.remarks import one_line, refuse_values, shown
from sm_ops.release.verification import verify_own

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner, Envelope

Json = dict[str, Any]


@dataclass(frozen=True)
class Gist:
    """What an approver has to know before signing: `digest` of the payload, lines to read, and those that alarm."""

    digest: str
    lines: list[str]
    alarms: list[str]
    standing: list[str]


def read(release: Release) -> Gist:
    """The gist of the open request, after the bundle has been verified. Raises as `approve` does."""
    from sm_ops.release import words
    from sm_ops.release.facts import facts_of

    with ledger.opened(release):
        listed = approvers.of(release.home)
        state = _open(release, listed)
        envelope, said = _decision(release)
        facts = facts_of(release.folder, fs.read_json(release.folder / CHECKS))
    requester = next((key.name for key in listed.keys if key.id == said["requester"]), "an unlisted key")
    pairs = [("Title", facts.about.title), *words.overview(facts)]
    lines = [f"{name + ':':<11} {text}" for name, text in pairs]
    lines += [f"Requested:  by {requester} on {said['requested']}, until {said['expires']}: {said['reason']}"]
    lines += [f"Checks:     {words.verdict(facts)}"]
    findings = [(each.alarming, f"{each.word}: {each.name}: {each.sentence}") for each in words.findings(facts)]
    lines += [line for alarming, line in findings if not alarming and line.startswith("warns")]
    lines += [f"Not shown:  {sentence}" for sentence in facts.not_measured]
    standing = [f"Approved by: {', '.join(state.approved_by) or 'nobody yet'}. {' '.join(state.missing)}".rstrip()]
    standing += [f"Read in {release.folder}: {CARD}, {REPORT}, {CHECKS}, the shards in data"]
    alarms = [line for alarming, line in findings if alarming]
    return Gist(fs.sha256(envelope.payload), *([shown(line) for line in part] for part in (lines, alarms, standing)))


def approve(release: Release, signer: CryptoSigner, digest: str, remark: str | None = None) -> bool:
    """Approve the request whose payload has the digest; False where this key has done so.

    Raises `IntegrityError` where the bundle is not what was requested, `InputError` for the wrong order or digest,
    `ApprovalError` for a key that is not listed, is the requester's, or comes too late.
    """
    note = {"remark": one_line(remark, "remark")} if remark else None
    with ledger.opened(release):
        listed = approvers.of(release.home)
        _open(release, listed)
        person = listed.person(signer.public_key.keyid)
        if remark:
            refuse_values(release, remark, "remark")
        envelope, said = _decision(release)
        if digest != fs.sha256(envelope.payload):
            hint = f"{digest[:16]!r} is not the digest of the request for {release}; read again what is asked for."
            raise InputError("other-digest", hint)
        if person.name in {key.name for key in listed.keys if key.id == said["requester"]}:
            hint = f"{person.name} has asked for {release}, so {person.name}'s approval cannot count; others have to."
            raise ApprovalError("own-request", hint)
        if person.id in envelope.signatures:
            return False
        signed = {DECISION: envelopes.with_signature(envelopes.written(envelope), signer)}
        ledger.record(release, "approve", Actor.of(signer, person.name), signed, note)
    return True


def _open(release: Release, listed: Approvers) -> states.State:
    """The state of a release whose bundle is intact and whose request is open."""
    verify_own(release, listed)
    state = states.state_of(release)
    if state.name == "expired" and state.due == "request":
        hint = f"The request for {release} expired on {state.expires}; due is: {states.next_command(release, state)}"
        raise ApprovalError("request-expired", hint)
    if state.name not in ("requested", "approved"):
        raise states.wrong_order(release, state, "approve")
    return state


def _decision(release: Release) -> tuple[Envelope, Json]:
    envelope = envelopes.read((release.folder / DECISION).read_bytes(), DECISION)
    return envelope, envelopes.content(envelope, "decision", DECISION)[1]
