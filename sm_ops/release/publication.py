"""Bringing a bundle to a place, so that nobody ever sees a part of it.

    .claims/NAME@VERSION.json       write-once: which publisher has this version; of two, one wins
    .staging/NAME@VERSION/...       what is uploaded, read back and compared
    NAME@VERSION/...                copied there within the place, each key written once, the manifest last
    index.json                      names the release when all of it is there

Whatever command dies in between, the same command goes on: what is there already is compared and not sent again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import rfc8785

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.release import clock, index, integrity, ledger
from sm_ops.release.folder import (
    HEAD,
    INDEX,
    LOG,
    MANIFEST,
    MANIFEST_SIGNED,
    PUBLICATION,
    REVOCATION,
    Release,
    all_releases,
)
from sm_ops.storage.places import STAGING, Lock, Place, open_place, read_digest

CLAIMS = ".claims"
RECORDS = (PUBLICATION, LOG, HEAD, MANIFEST_SIGNED, MANIFEST, REVOCATION)
"""What says that there was a release, and stays when it is revoked."""
_FORMAT = "places/1"

Json = dict[str, Any]


# ---- where a release lies ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """Where this home has taken a release's version; `publisher` is the random name under which it does.

    A place is whole when its index names the release.
    """

    publisher: str
    places: list[Json]

    @classmethod
    def of(cls, release: Release) -> Places:
        """Of a release; none yet, under a new name."""
        try:
            value = fs.read_json(_places_file(release))
        except FileNotFoundError:
            return cls(secrets.token_hex(16), [])
        except ValueError:
            value = {}
        if value.get("format") != _FORMAT:
            raise InputError("places-damaged", f"{_places_file(release)} is damaged; put back a sound copy of it.")
        return cls(value["publisher"], value["places"])

    def opened(self) -> list[Place]:
        """The places that are whole."""
        return [open_place(each["place"], each["owner"]) for each in self.places if each["whole"]]

    def begun(self) -> list[Place]:
        """All of them."""
        return [open_place(each["place"], each["owner"]) for each in self.places]

    def is_whole(self, place: Place) -> bool:
        """Whether the release lies there."""
        return any(each["whole"] for each in self.places if each["place"] == place.text)

    def adding(self, place: Place, whole: bool) -> Places:
        """With one more, or with what is known of it now."""
        others = [each for each in self.places if each["place"] != place.text]
        return Places(self.publisher, [*others, {"place": place.text, "owner": place.owner, "whole": whole}])

    def save(self, release: Release) -> None:
        """Keep it, for its owner's eyes."""
        value = {"format": _FORMAT, "publisher": self.publisher, "places": self.places}
        fs.private_folder(_places_file(release).parent)
        fs.write_atomic(_places_file(release), fs.canonical_json(value) + b"\n", mode=0o600)


def _places_file(release: Release) -> Path:
    return release.origin.with_name(f"{release}~places.json")


def marker(release: Release) -> Path:
    """Is there from before the publication's statement until the index lists the release."""
    return release.work / f"{release}.publishing"


def mark(release: Release) -> None:
    """Make the marker."""
    release.work.mkdir(parents=True, exist_ok=True)
    marker(release).touch()
    fs.fsync(release.work)


# ---- bringing it there ---------------------------------------------------------------------------------


def lock(policy: Settings, kind: Literal["data", "record"]) -> Lock | None:
    """The Object Lock that a policy asks for, from now on."""
    if policy.object_lock is None:
        return None
    if kind == "record":
        return Lock("COMPLIANCE", clock.now() + timedelta(days=policy.object_lock.record_days))
    return Lock("GOVERNANCE", clock.now() + timedelta(days=policy.object_lock.data_days))


def claim(release: Release, place: Place) -> bool:
    """Take the version at the place, before anything else is written there; whether this home had taken it before.

    Raises `InputError` where another publisher has it.
    """
    key = f"{CLAIMS}/{release}.json"
    manifest, publisher = fs.file_hash(release.folder / MANIFEST), Places.of(release).publisher
    said = {"release": str(release), "manifest": manifest, "publisher": publisher}
    wanted = rfc8785.dumps(said) + b"\n"
    if place.put_once(key, wanted, None):
        return False
    found = place.get(key)
    if found is None or found[0] != wanted:
        raise index.taken(str(release))
    return True


def refuse_away(release: Release, place: Place) -> None:
    """Raise `InputError` where nothing is of what this home has brought to the place: a share that is not mounted.

    A claim on the same manifest will do: it may be of this home before its memory was lost.
    """
    found = place.get(f"{CLAIMS}/{release}.json")
    try:
        manifest = json.loads(found[0])["manifest"] if found else None
    except (ValueError, KeyError, TypeError):
        manifest = None
    if manifest != fs.file_hash(release.folder / MANIFEST):
        raise _away(place, str(release))


def refuse_emptied(home: Path, place: Place) -> None:
    """Raise `InputError` where releases of this home lay, and no index is: a share that is not mounted."""
    lay = next((str(other) for other in all_releases(home) if Places.of(other).is_whole(place)), None)
    if lay is not None and place.get(INDEX) is None:
        raise _away(place, lay)


def _away(place: Place, release: str) -> InputError:
    hint = f"{place.text} does not hold {release}, which was published there; if it is away, bring it back (mount it), "
    return InputError("place-away", hint + "then run the same command again.")


def files_of(release: Release) -> dict[str, str]:
    """SHA-256 of every file of a verified bundle, by path, in the order in which they get their final keys."""
    log = (release.folder / LOG).read_bytes()
    manifest = integrity.manifest_of((release.folder / MANIFEST).read_bytes())
    found = integrity.digests_of(manifest, ledger.entries(log))
    found |= {LOG: fs.sha256(log), HEAD: fs.file_hash(release.folder / HEAD)}
    return {path: found[path] for path in [*sorted(found.keys() - {*RECORDS}), *RECORDS] if path in found}


def bring(release: Release, place: Place, policy: Settings, resumed: bool) -> None:
    """Stage what is not there, read it back, give it its final keys.

    Other content is of this home, if it has taken the version before (`resumed`): of an interrupted command, or damaged
    since. It gives way. Else it is another's, and refused with an `InputError`.
    """
    files = files_of(release)
    final, staging = f"{release}/", staging_of(release)
    present = {key.removeprefix(final) for key in place.keys(final)}
    if other := [path for path in files if path in present and place.digest(final + path) != files[path]]:
        if not resumed:
            raise _other_content(place, final + other[0])
        for path in other:
            place.remove(final + path)
        present = {key.removeprefix(final) for key in place.keys(final)}
    missing = {path: digest for path, digest in files.items() if path not in present}
    _stage(release, place, staging, missing)
    for path, digest in files.items():  # the manifest last
        kept = lock(policy, "record" if path in RECORDS else "data")
        if path in missing:
            place.promote(staging + path, final + path, kept)  # one that is there already is compared like any other
            if place.digest(final + path) != digest:
                raise _other_content(place, final + path)
        if kept:
            place.keep(final + path, kept)
    place.remove(staging)


def is_there(release: Release, place: Place) -> bool:
    """Whether every file lies at the place as it is here."""
    return all(place.digest(f"{release}/{path}") == digest for path, digest in files_of(release).items())


def _stage(release: Release, place: Place, staging: str, missing: Mapping[str, str]) -> None:
    staged = set(place.keys(staging))
    for path, digest in missing.items():
        key = staging + path
        if key in staged and read_digest(place.read(key)) == digest:
            continue
        place.stage(key, release.folder / path)
        if read_digest(place.read(key)) != digest:
            hint = f"{place.text}: what arrived of {release}/{path} is not what was signed; run the same command again."
            raise InputError("place-damaged", hint)


def staging_of(release: Release) -> str:
    """Where a release is uploaded to first."""
    return f"{STAGING}/{release}/"


def _other_content(place: Place, key: str) -> InputError:
    hint = f"{place.text}/{key} holds something else already; publish under a new version, or look who wrote it there."
    return InputError("key-taken", hint)
