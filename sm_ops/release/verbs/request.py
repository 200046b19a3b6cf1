"""request: ask for a release of exactly these files; the statement that approvers will sign."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sm_ops.core.errors import InputError, StageError
from sm_ops.release import approvals, approvers, clock, envelopes, ledger, policy, states
from sm_ops.release.folder import CHECKS, DECISION, PUBLICATION, REJECTION, Release
from sm_ops.release.ledger import Actor
from sm_ops.release.remarks import one_line, refuse_values
from sm_ops.release.verification import verify_own

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner


def request(release: Release, signer: CryptoSigner, reason: str) -> bool:
    """Ask for the release, in the name of a listed key; False where a request is open already.

    Raises `StageError` where the checks fail, `InputError` for the wrong order, no reason, or where the listed keys can
    never approve it, `ApprovalError` for an unlisted key, `IntegrityError` where the bundle is not what was built and
    checked.
    """
    reason = one_line(reason, "reason")
    with ledger.opened(release):
        listed = approvers.of(release.home)
        verify_own(release, listed)
        person = listed.person(signer.public_key.keyid)
        state = states.state_of(release)
        if state.name in ("requested", "approved"):
            return False
        if state.checks == "fail":
            hint = f"The checks of {release} fail; see {CHECKS} and README.md. Build it anew, or have a check waived."
            raise StageError("checks-failed", hint)
        if state.due != "request":
            raise states.wrong_order(release, state, "request")
        rules = policy.policy_of(release)
        if hopeless := approvals.out_of_reach(listed, rules, person):
            raise InputError("approvers-too-few", f"Nobody could approve {release}. {'. '.join(hopeless)}")
        refuse_values(release, reason, "reason")
        count, roles = approvals.asked(listed, rules)
        time = ledger.next_time(release)
        said = {
            "release": str(release),
            "decision": "release",
            "reason": reason,
            "requester": person.id,
            "requested": clock.told(time),
            "expires": clock.told(time + timedelta(days=rules.approvals.days)),
            "approvals": {"count": count, "roles": roles},
        }
        decision = envelopes.signed(envelopes.statement("decision", states.subjects_of(release), said), [signer])
        files: dict[str, bytes | None] = {DECISION: decision}
        earlier = (REJECTION, PUBLICATION)  # the latter of a publication that was interrupted before the rejection
        files |= {path: None for path in earlier if (release.folder / path).is_file()}
        ledger.record(release, "request", Actor.of(signer, person.name), files, {"reason": reason})
    return True
