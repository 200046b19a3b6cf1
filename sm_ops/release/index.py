"""The index of a place: which releases lie there, and in what state; replaced as a whole, one serial after the other.

`index.json` is a statement of kind `index`, signed by the builder's key of whoever wrote it last (`builder`, its public
key). `previous` is the SHA-256 of the index before, so the versions that a bucket keeps are a chain. An entry is

    {"release", "name", "version", "state": "published|superseded|expired|revoked", "manifest": SHA-256 of its
     manifest.json, "path": "NAME@VERSION/", "published", "expires", "revocation": SHA-256 of the statement or null}

and a release that was revoked before it was published has null for both times.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import envelopes, keys
from sm_ops.release.folder import INDEX, Release
from sm_ops.storage.places import Place

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner

TAKEN = "release-taken"
_VALID = ("published", "superseded")
_TRIES = 30
_PAUSE = 0.5
"""Seconds, at most, between two tries."""

Entry = dict[str, Any]


@dataclass(frozen=True)
class Index:
    """What an index says; `builder` is the public key that signed it, nothing for the index of an empty place."""

    serial: int
    releases: list[Entry]
    builder: str = ""

    def entry(self, release: str) -> Entry | None:
        """The entry of a release."""
        return next((entry for entry in self.releases if entry["release"] == release), None)


def read(place: Place) -> Index:
    """The index of a place; that of an empty one has serial 0. Raises `IntegrityError` for one that was changed."""
    found = place.get(INDEX)
    return parsed(found[0], f"{place.text}/{INDEX}") if found else Index(0, [])


def parsed(file: bytes, where: str) -> Index:
    """An index from its file. Raises `IntegrityError` that names `where` for one that was changed."""
    envelope = envelopes.read(file, where)
    _, said = envelopes.content(envelope, "index", where)
    try:
        public, found = said["builder"], Index(said["serial"], said["releases"], said["builder"])
        whole = all(map(_is_entry, found.releases))
        signers = envelopes.valid_signers(envelope, [public], where)
    except (KeyError, TypeError, ValueError):
        raise IntegrityError("bad-statement", f"{where} is not an index as it was written; it was changed.") from None
    if not (whole and signers):
        raise IntegrityError("bad-signature", f"{where} is not signed by the key that it names; it was changed.")
    return found


def _is_entry(entry: Entry) -> bool:
    texts = ("name", "version", "manifest", *(("published", "expires") if entry["state"] != "revoked" else ()))
    return (
        all(isinstance(entry[key], str) for key in texts)
        and entry["state"] in (*_VALID, "expired", "revoked")
        and entry["release"] == f"{entry['name']}@{entry['version']}"
        and entry["path"] == f"{entry['release']}/"
    )


def change(place: Place, builder: CryptoSigner, update: Callable[[list[Entry]], list[Entry]]) -> None:
    """Replace the index by what `update` makes of its entries; nothing is written where that changes nothing.

    Another's change in between is read, and `update` asked again. Raises `InputError` where that does not end.
    """
    for _ in range(_TRIES):
        found = place.get(INDEX)
        index = parsed(found[0], f"{place.text}/{INDEX}") if found else Index(0, [])
        releases = sorted(update(index.releases), key=lambda entry: (entry["name"], entry["release"]))
        if releases == index.releases:
            return
        said = {
            "serial": index.serial + 1,
            "previous": fs.sha256(found[0]) if found else None,
            "builder": keys.public_of(builder),
            "releases": releases,
        }
        file = envelopes.signed(envelopes.statement("index", {}, said), [builder])
        if place.swap(INDEX, file, found[1] if found else None):
            return
        time.sleep(random.uniform(0, _PAUSE))
    hint = f"{place.text}/{INDEX} was changed by others again and again; run the same command again."
    raise InputError("index-busy", hint)


def entry_of(release: Release, manifest: str, published: str | None, expires: str | None) -> Entry:
    """The entry of a release that is published, or (without times) never was."""
    return {
        "release": str(release),
        "name": release.name,
        "version": release.version,
        "state": "published",
        "manifest": manifest,
        "path": f"{release}/",
        "published": published,
        "expires": expires,
        "revocation": None,
    }


def replaced(entries: Iterable[Entry], new: Entry) -> list[Entry]:
    """The entries with another of the same release, or one more.

    Of its name, what was published last and is neither expired nor revoked stays current, the others are superseded.
    """
    found = [*(entry for entry in entries if entry["release"] != new["release"]), new]
    valid = [entry for entry in found if entry["name"] == new["name"] and entry["state"] in _VALID]
    newest = max(valid, key=lambda entry: (entry["published"], entry["version"]), default=None)
    states = {entry["release"]: "published" if entry is newest else "superseded" for entry in valid}
    return [entry | {"state": states.get(entry["release"], entry["state"])} for entry in found]


def taken(release: str) -> InputError:
    """The refusal of a name that another has used."""
    hint = f"Another publisher has published {release} there; choose a new version: sm-ops release build"
    return InputError(TAKEN, hint)
