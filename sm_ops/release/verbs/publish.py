"""publish: bring an approved release to a place, after checks and verification have run once more.

First the publication is said here (statement and line of the log, under a marker), then the bundle is brought there,
then the index of the place names it, and the marker goes. Whatever was interrupted, the same command goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, InputError, IntegrityError, StageError
from sm_ops.release import approvers, clock, envelopes, index, integrity, keys, ledger, policy, publication, states
from sm_ops.release.folder import DECISION, LOG, MANIFEST, PUBLICATION, Release, releases_folder
from sm_ops.release.ledger import Actor
from sm_ops.release.publication import Places
from sm_ops.release.verbs.check import Progress, check, unheard
from sm_ops.release.verification import verify_own
from sm_ops.storage.places import Place

_PUBLISHABLE = ("approved", "published", "superseded")
_MADE_TRUE = "remote"
"""The check that what lies at the places is whole: publishing makes it so."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Published:
    """Where a release lies now, from when until when (UTC), and whether it lay there before."""

    place: str
    published: str
    expires: str
    already: bool


def publish(release: Release, place: Place, progress: Progress = unheard) -> Published:
    """Publish a release at a place; a release may lie at several.

    Raises `StageError` where a check fails now, `ApprovalError` where approvals are missing or have expired,
    `IntegrityError` for what was changed or revoked, `InputError` for the wrong order, a place that cannot keep it, and
    a version that another publisher has used there.
    """
    if Path(place.text).resolve().is_relative_to(releases_folder(release.home).resolve()):
        raise InputError("place", f"{place.text} is where this home keeps its own releases; publish elsewhere.")
    with ledger.opened(release):
        integrity.check_own(release)
        _refuse_order(release)
        if done := _already(release, place):
            return done
    _check(release, progress)
    with ledger.opened(release):
        _refuse_order(release)
        verify_own(release, approvers.of(release.home)).require_approved()
        rules = policy.policy_of(release)
        place.check(lock=rules.object_lock is not None)
        publication.refuse_emptied(release.home, place)
        _listed(release, place)
        resumed = _claim(release, place)
        said = _statement(release, rules.release_days)
        publication.bring(release, place, rules, resumed)
        entry = index.entry_of(release, fs.file_hash(release.folder / MANIFEST), said["published"], said["expires"])
        index.change(place, keys.builder(release.home), lambda entries: index.replaced(entries, entry))
        Places.of(release).adding(place, whole=True).save(release)
        publication.marker(release).unlink(missing_ok=True)
    return Published(place.text, said["published"], said["expires"], already=False)


def _refuse_order(release: Release) -> None:
    state = states.state_of(release)
    if state.name == "revoked":
        raise IntegrityError("revoked", f"REVOKED: {release} was revoked; it is not published again.")
    if state.name == "expired":
        due = states.next_command(release, state) or "sm-ops release build"
        hint = f"{release} expired on {state.expires}; due is: {due}"
        raise ApprovalError("expired", hint)
    if state.name in ("requested", "rejected"):
        hint = f"{release} is {state.name}. {' '.join(state.missing)} Due is: {states.next_command(release, state)}"
        raise ApprovalError("not-approved", hint)
    if state.name not in _PUBLISHABLE:
        raise states.wrong_order(release, state, "publish")


def _check(release: Release, progress: Progress) -> None:
    """Run the checks again: they must pass, and find what was approved."""
    checked = check(release, progress)
    contradicts = [name for name in checked.contradicts if name != _MADE_TRUE]
    if contradicts and publication.marker(release).exists():
        with ledger.opened(release):
            _withdraw(release)
        checked, contradicts = check(release, progress), []
    if not checked.passed or contradicts:
        told = f"find something else now ({', '.join(contradicts)})" if contradicts else "do not pass now"
        hint = f"The checks of {release} {told}; see: sm-ops release check {release}. Build another version."
        raise StageError("checks-failed", hint)
    if checked.withdrew:
        due = states.next_command(release, states.state_of(release))
        hint = f"The checks of {release} find something else than what was approved; approve it again. Due is: {due}"
        raise ApprovalError("findings-changed", hint)


def _already(release: Release, place: Place) -> Published | None:
    """What was published there, is listed there still, and is whole."""
    if not states.is_published(release) or not Places.of(release).is_whole(place):
        return None
    publication.refuse_away(release, place)
    entry = _listed(release, place)
    if entry is None or not publication.is_there(release, place):
        return None
    return Published(place.text, entry["published"], entry["expires"], already=True)


def _listed(release: Release, place: Place) -> index.Entry | None:
    """What the index there says of the release. Raises `IntegrityError` for a revoked, `InputError` for another one."""
    entry = index.read(place).entry(str(release))
    if entry and entry["state"] == "revoked":
        raise IntegrityError("revoked", f"REVOKED: {release} was revoked at {place.text}; it is not published again.")
    if entry and entry["manifest"] != fs.file_hash(release.folder / MANIFEST):
        raise index.taken(str(release))
    return entry


def _withdraw(release: Release) -> None:
    """Take back the statement of an interrupted publication; nobody has been shown it."""
    ledger.record(release, "withdraw", _builder(release), {PUBLICATION: None})


def _claim(release: Release, place: Place) -> bool:
    """Take the version there, and remember the place; whether an interrupted command of this home had taken it."""
    Places.of(release).save(release)  # under one name, whatever happens next
    resumed = publication.claim(release, place)
    places = Places.of(release)
    places.adding(place, places.is_whole(place)).save(release)
    return resumed


def _statement(release: Release, days: int) -> Json:
    """What the publication's statement says; it is made, under the marker, where there is none."""
    file = release.folder / PUBLICATION
    if not file.is_file():
        last = (release.folder / LOG).read_bytes().splitlines(keepends=True)[-1]
        time = clock.after(json.loads(last)["time"])
        said = {
            "release": str(release),
            "published": clock.told(time),
            "expires": clock.told(time + timedelta(days=days)),
            "log": fs.sha256(last),
        }
        payload = envelopes.statement("publication", _subjects(release), said)
        publication.mark(release)
        signed = envelopes.signed(payload, [keys.builder(release.home)])
        ledger.record(release, "publish", _builder(release), {PUBLICATION: signed})
    return envelopes.content(envelopes.read(file.read_bytes(), PUBLICATION), "publication", PUBLICATION)[1]


def _subjects(release: Release) -> dict[str, str]:
    return {path: fs.file_hash(release.folder / path) for path in (MANIFEST, DECISION)}


def _builder(release: Release) -> Actor:
    return Actor.of(keys.builder(release.home), keys.BUILDER)
