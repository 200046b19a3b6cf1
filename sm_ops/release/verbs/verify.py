"""verify: is a release revoked, intact, approved; for the house and for outsiders alike. It changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sm_ops.release import approvers, keys, ledger, verification
from sm_ops.release.approvers import Approvers
from sm_ops.release.folder import Release, existing, releases_folder
from sm_ops.release.reading import FolderReader, reader_of
from sm_ops.release.states import next_command, state_of
from sm_ops.release.verification import Verdict


def verify(home: Path, place: str, trusted: Path | None = None) -> Verdict:
    """Verify a release of the home (`NAME@VERSION`), a folder, or what lies below an https URL.

    Approvals count by the list of approvers `trusted`, or else by the home's own. Raises `IntegrityError` for what is
    revoked or changed, `InputError` where nothing can be read.
    """
    known = approvers.load(trusted) if trusted else approvers.of(home)
    listed = known if known.keys else None
    release = _own(home, place)
    if release is None:
        return _of_others(home, place, listed)
    verification.refuse_revoked(FolderReader(release.folder), listed)  # whatever else became of it
    with ledger.looked_at(release):
        verdict = verification.verify_own(release, listed)
        if verdict.state == "published":  # this home knows whether it is out already, and whether another came after
            return replace(verdict, state=state_of(release).name)
    return verdict


def next_of(home: Path, place: str) -> str | None:
    """The command that is due for a release of the home; None for one of others."""
    release = _own(home, place)
    return next_command(release, state_of(release)) if release else None


def _own(home: Path, place: str) -> Release | None:
    """A release of the home, None for a folder or a URL. Raises `InputError` for what is neither."""
    if "://" in place:
        return None
    own = releases_folder(home)
    if (own / place).is_dir() and "@" in place and "/" not in place:
        return Release(home, *place.split("@", 1))
    path = Path(place)
    if path.is_dir():
        path = path.resolve()
        return Release(home, *path.name.split("@", 1)) if path.parent == own.resolve() and "@" in path.name else None
    return existing(home, place)


def _of_others(home: Path, place: str, listed: Approvers | None) -> Verdict:
    verdict = verification.verify(reader_of(place), listed)
    own = keys.known_builder(home)
    if own and keys.key_id(own) != verdict.builder:
        return verdict.with_notice("It was built by another builder than this home's.")
    return verdict
