"""Whether a request has the approvals it needs: distinct keys that count, roles, time; never the requester's key.

A decision is one envelope: the requester's statement, signed by the requester and, over the same bytes, by each who
approves. A signature counts if its key was listed when it signed (by the log) and, until publication, is listed still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sm_ops.core.errors import IntegrityError
from sm_ops.release import clock, envelopes, keys
from sm_ops.release.approvers import Approvers, Key, lacking
from sm_ops.release.folder import CARD, CHECKS, DECISION, MANIFEST, POLICY, REPORT

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.release.sslib import Envelope

SUBJECTS = (MANIFEST, CHECKS, POLICY, CARD, REPORT)
"""The files of a release that a decision is about."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Approval:
    """Who approved a request (keys that count, by name), and what is missing, in sentences: nothing when approved.

    `needed` keys with `roles` among them; `requester` is a key's id; `subjects` are the SHA-256 of what was decided on.
    """

    by: list[Key]
    missing: list[str]
    needed: int
    roles: tuple[str, ...]
    requester: str
    expires: str
    subjects: dict[str, str]


def counted(file: bytes, entries: Sequence[Json], approvers: Approvers, policy: Settings, at: datetime) -> Approval:
    """Count the approvals of a decision's envelope at a time, given the lines of the release's log.

    What was published before is judged as of its publication. Raises `IntegrityError` for a file that is no decision,
    is not signed by its requester, or holds a signature that does not fit.
    """
    envelope = envelopes.read(file, DECISION)
    subjects, said = envelopes.content(envelope, "decision", DECISION)
    lines = _since_request(entries)
    moment = next((line["time"] for line in lines if line["action"] == "publish"), clock.told(at))
    rule, then = approvers.version_at(moment), approvers.at(moment)
    try:
        requester, expires, asked = said["requester"], said["expires"], said["approvals"]
        clock.read(expires)
        needed = max(policy.approvals.count, rule.threshold, asked["count"])
        roles = tuple(sorted({*policy.approvals.roles, *rule.roles, *asked["roles"]}))
    except (KeyError, TypeError, ValueError):
        raise IntegrityError("bad-statement", f"{DECISION} is no request as it was written; it was changed.") from None

    signed, notes = _signed(envelope, approvers)
    own = {key.name for key in approvers.keys if key.id == requester}
    by: list[Key] = []
    for key in signed:
        if key.name in own:
            continue
        if reason := _discounted(key, lines, approvers, then):
            notes.append(f"The approval of {key.name} does not count: {reason}.")
        else:
            by.append(then[key.id])
    missing = [f"{lack.capitalize()}." for lack in lacking(by, needed, roles)]
    if not missing and not _reached(envelope, by, needed):
        missing = [f"Fewer than {needed} signatures hold."]
    if requester not in {key.id for key in signed}:
        missing.append("The request is not signed by a key in the list of approvers.")
    if moment > expires:
        missing.append(f"The request and its approvals expired on {expires}.")
    return Approval(by, missing + notes if missing else [], needed, roles, requester, expires, subjects)


def asked(approvers: Approvers, policy: Settings) -> tuple[int, list[str]]:
    """How many approvals, and which roles among them, policy and list of approvers ask for together."""
    return max(policy.approvals.count, approvers.threshold), sorted({*policy.approvals.roles, *approvers.roles})


def out_of_reach(approvers: Approvers, policy: Settings, requester: Key | None = None) -> list[str]:
    """Why the listed keys cannot approve what `requester`, or any of them, asks for; nothing where they can."""
    count, needed_roles = asked(approvers, policy)
    others = [key for key in approvers.now.present.values() if requester is None or key.name != requester.name]
    roles = {role for key in others for role in key.roles}
    besides = "" if requester is None else f" beside {requester.name}'s"
    add = "add one with: sm-ops release key add FILE.pub --role"
    lacks = [f"No listed key{besides} has the role {role}; {add} {role}" for role in needed_roles if role not in roles]
    available = len(others) - (requester is None)
    if lacks or available >= count:
        return lacks
    listed = f"{max(available, 0)} {'key' if available == 1 else 'keys'} beside the requester's can give them"
    return [f"{count} approvals are needed, and {listed}; {add} ROLE"]


def _signed(envelope: Envelope, approvers: Approvers) -> tuple[list[Key], list[str]]:
    """Listed keys whose signatures hold, by name, and what is to be said of others."""
    known = {key.id: key for key in approvers.keys}
    signers = envelopes.known_signers(envelope, [key.public for key in approvers.keys], DECISION)
    others = sorted(set(envelope.signatures) - set(known))
    notes = [f"The signature by {key[:16]} does not count: the key is not in the list of approvers." for key in others]
    return sorted((known[key] for key in signers), key=lambda key: key.name), notes


def _reached(envelope: Envelope, by: Sequence[Key], needed: int) -> bool:
    """Whether the signatures of these keys reach the threshold, by the library's own count."""
    from sm_ops.release.sslib import Envelope, VerificationError

    counting = {key.id: keys.public_key(key.public) for key in by}
    signatures = {key: envelope.signatures[key] for key in counting}
    only = Envelope(envelope.payload, envelope.payload_type, signatures)
    try:
        return len(only.verify(list(counting.values()), needed)) >= needed
    except (VerificationError, ValueError):
        return False


def _since_request(entries: Sequence[Json]) -> Sequence[Json]:
    requests = [number for number, line in enumerate(entries) if line["action"] == "request"]
    if not requests:
        raise IntegrityError("bad-statement", f"There is a {DECISION}, but the log knows of no request.")
    return entries[requests[-1] :]


def _discounted(key: Key, lines: Sequence[Json], approvers: Approvers, then: Mapping[str, Key]) -> str | None:
    """Why a signature that holds does not count, in words."""
    times = [line["time"] for line in lines if line["action"] == "approve" and line["actor"]["key"] == key.id]
    if not times:
        return "the log does not say when it was given"
    if key.id not in approvers.at(times[0]):
        return "the key was not in the list of approvers when it signed"
    if key.id not in then:
        return f"the key was removed on {key.removed}"
    return None
