"""What a release is, read from its files and the time, and which verb is due.

    built -> checked (pass | fail) -> requested -> approved -> published -> superseded | expired | revoked

A rejected request, or one that expired before it was approved and published, is `rejected` or `expired` until the next
`request`. Nothing is stored as a state: files decide.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import approvals, approvers, clock, envelopes, ledger, policy
from sm_ops.release.folder import CHECKS, DECISION, MANIFEST, PUBLICATION, REJECTION, REVOCATION, Release, all_releases

Name = Literal["built", "checked", "requested", "rejected", "approved", "published", "superseded", "expired", "revoked"]


@dataclass(frozen=True)
class State:
    """A release's state. `due` is the verb to type next, None where nothing is left to do.

    `checks` is `pass` or `fail` once they ran, `expires` the time after which the request or the published release is
    void, `approved_by` the names of those whose approval counts, `needed` how many approvals the policy and the list of
    approvers ask for, `missing` what an open request lacks, in sentences.
    """

    name: Name
    due: str | None
    checks: Literal["pass", "fail"] | None = None
    expires: str | None = None
    approved_by: list[str] = field(default_factory=list)
    needed: int | None = None
    missing: list[str] = field(default_factory=list)


def state_of(release: Release, at: datetime | None = None) -> State:
    """The state of a release at a time (default: now), by the files that are there; verifying them is `verify`'s.

    Raises `InputError` for a release that was not built, `IntegrityError` where a statement that decides is damaged.
    """
    if not release.exists():
        raise InputError("no-release", f"There is no release {release} in {release.home}; see: sm-ops release ls")
    at = at or clock.now()
    checks = _verdict(release)
    if (release.folder / REVOCATION).is_file():
        return State("revoked", None, checks)
    approval = approval_of(release, at)
    said: dict[str, Any] = {"checks": checks}
    if approval is not None:
        said |= {"expires": approval.expires, "approved_by": [key.name for key in approval.by]}
        said |= {"needed": approval.needed, "missing": approval.missing}
    if is_published(release):
        publication = _publication(release)
        expires = publication["expires"]
        over = clock.told(at) > expires
        name = "expired" if over else "superseded" if _superseded(release, publication) else "published"
        return State(name, None, **said | {"expires": expires})
    if (release.folder / REJECTION).is_file():
        return State("rejected", "request", checks)
    if approval is not None:
        if clock.told(at) > approval.expires:
            return State("expired", "request", **said)
        return State("requested", "approve", **said) if approval.missing else State("approved", "publish", **said)
    if checks is None:
        return State("built", "check")
    return State("checked", "request" if checks == "pass" else "check", **said)


def approval_of(release: Release, at: datetime) -> approvals.Approval | None:
    """The approval that a release has got so far; None where none is asked for.

    Raises `IntegrityError` where the decision is of another release, or of files that have changed since.
    """
    decision = release.folder / DECISION
    if not decision.is_file():
        return None
    published = is_published(release)
    entries = [entry for entry in ledger.read_log(release) if published or entry["action"] != "publish"]
    listed, asked = approvers.of(release.home), policy.policy_of(release)
    found = approvals.counted(decision.read_bytes(), entries, listed, asked, at)
    if found.subjects != subjects_of(release):
        changed = sorted(path for path, digest in subjects_of(release).items() if found.subjects.get(path) != digest)
        hint = (
            f"{release}: {DECISION} is not about the present {', '.join(changed) or MANIFEST}; something was changed."
        )
        raise IntegrityError("other-decision", hint)
    return found


def next_command(release: Release, state: State) -> str | None:
    """What a person types next, from `sm-ops` on; None where nothing is due."""
    options = {"request": " --key FILE --reason TEXT", "approve": " --key FILE", "publish": " --to PLACE"}
    return f"sm-ops release {state.due} {release}{options.get(state.due, '')}" if state.due else None


def wrong_order(release: Release, state: State, verb: str) -> InputError:
    """Why a verb cannot be done now: the state, and the verb that is due."""
    due = next_command(release, state)
    told = f"due is: {due}" if due else "nothing is due; another version may be built"
    return InputError("release-order", f"{release} is {state.name}, so `{verb}` is not possible now; {told}")


def subjects_of(release: Release) -> dict[str, str]:
    """SHA-256 of the files that a decision is about."""
    return {path: fs.file_hash(release.folder / path) for path in approvals.SUBJECTS}


def is_published(release: Release) -> bool:
    """Whether the release was published and the index of its place lists it."""
    marker = release.work / f"{release}.publishing"
    return (release.folder / PUBLICATION).is_file() and not marker.exists()


def _verdict(release: Release) -> Literal["pass", "fail"] | None:
    path = release.folder / CHECKS
    if not path.is_file():
        return None
    try:
        verdict = json.loads(path.read_bytes())["verdict"]
    except (ValueError, TypeError, KeyError):
        verdict = None
    if verdict not in ("pass", "fail"):
        raise IntegrityError("bad-checks", f"{release}/{CHECKS} is damaged; it was changed.")
    return verdict


def _publication(release: Release) -> dict[str, Any]:
    envelope = envelopes.read((release.folder / PUBLICATION).read_bytes(), f"{release}/{PUBLICATION}")
    return envelopes.content(envelope, "publication", f"{release}/{PUBLICATION}")[1]


def _superseded(release: Release, publication: dict[str, Any]) -> bool:
    """Whether another version of the name was published later and is not revoked."""
    others = [
        other
        for other in all_releases(release.home)
        if other.name == release.name and other != release and is_published(other)
    ]
    mine = (publication["published"], release.version)
    return any(
        (_publication(other)["published"], other.version) > mine
        for other in others
        if not (other.folder / REVOCATION).is_file()
    )
