"""reject: say no to an open request; whoever is listed may, the requester too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.release import approvers, clock, envelopes, ledger, states
from sm_ops.release.folder import DECISION, MANIFEST, REJECTION, Release
from sm_ops.release.ledger import Actor
from sm_ops.release.remarks import one_line, refuse_values
from sm_ops.release.verification import verify_own

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner


def reject(release: Release, signer: CryptoSigner, reason: str) -> bool:
    """Reject the open request and the approvals on it; False where it was rejected already.

    Raises `InputError` for the wrong order or no reason, `ApprovalError` for a key that is not listed, `IntegrityError`
    where the bundle is not what was requested.
    """
    reason = one_line(reason, "reason")
    with ledger.opened(release):
        listed = approvers.of(release.home)
        verify_own(release, listed)
        person = listed.person(signer.public_key.keyid)
        state = states.state_of(release)
        if state.name == "rejected":
            return False
        if state.name not in ("requested", "approved"):
            raise states.wrong_order(release, state, "reject")
        refuse_values(release, reason, "reason")
        time = ledger.next_time(release)
        subjects = {path: fs.file_hash(release.folder / path) for path in (MANIFEST, DECISION)}
        said = {"release": str(release), "reason": reason, "time": clock.told(time)}
        file = envelopes.signed(envelopes.statement("rejection", subjects, said), [signer])
        ledger.record(release, "reject", Actor.of(signer, person.name), {REJECTION: file}, {"reason": reason})
    return True
