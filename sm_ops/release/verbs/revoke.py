"""revoke: take a release back. It is said here and signed, then in every index, then its data are deleted everywhere.

Manifest, log and statements stay, so that everybody sees that there was such a release and that it is revoked. After an
interruption the same command does what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import InputError, SmOpsError, sanitise
from sm_ops.release import approvers, clock, envelopes, index, keys, ledger, policy, publication
from sm_ops.release.checking import Origin
from sm_ops.release.folder import MANIFEST, PUBLICATION, REVOCATION, Release, all_releases
from sm_ops.release.ledger import Actor
from sm_ops.release.publication import RECORDS, Places
from sm_ops.release.remarks import one_line, refuse_values
from sm_ops.storage.places import Place
from sm_ops.vault import Vault

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner


@dataclass(frozen=True)
class Revoked:
    """What was done: at which places, which datasets of the vault are destroyed, and whether it was revoked before."""

    places: list[str]
    shredded: list[str]
    already: bool


def revoke(
    release: Release, signer: CryptoSigner, reason: str, keep_vault: bool = False, at: Sequence[Place] = ()
) -> Revoked:
    """Revoke a release, published or not, in the name of any listed key.

    With `keep_vault` the mappings of a reversible release stay in the vault; `at` names places that this home does not
    know of. Raises `ApprovalError` for a key that is not listed, and, when all else is done, `InputError` where a place
    cannot be reached or keeps its data, and where none is known although the release was published.
    """
    reason = one_line(reason, "reason")
    with ledger.held(release):
        person = approvers.of(release.home).person(signer.public_key.keyid)
        already = (release.folder / REVOCATION).is_file()
        if not already:
            refuse_values(release, reason, "reason")
            manifest = fs.file_hash(release.folder / MANIFEST)
            time = clock.told(ledger.next_time(release))
            said = {"release": str(release), "manifest": manifest, "reason": reason, "time": time}
            file = envelopes.signed(envelopes.statement("revocation", {MANIFEST: manifest}, said), [signer])
            actor = Actor.of(signer, person.name)
            ledger.record_revocation(release, actor, file, {"reason": reason})
        for place in at:
            publication.refuse_away(release, place)
            Places.of(release).adding(place, whole=True).save(release)
        places = Places.of(release).begun()
        buried, failures = _each(partial(_bury, signer), release, places)
        failures += _each(_delete, release, buried)[1]
        publication.marker(release).unlink(missing_ok=True)
    shredded = [] if keep_vault else _shred(release)
    if failures:
        raise failures[0]
    if not places and (release.folder / PUBLICATION).is_file():
        hint = f"{release} is revoked here, but it was published and this home does not know where; name it: --at PLACE"
        raise InputError("no-places", hint)
    return Revoked([place.text for place in places], shredded, already)


def _each(
    act: Callable[[Release, Place], None], release: Release, places: list[Place]
) -> tuple[list[Place], list[SmOpsError]]:
    """Do it at every place that can be reached: where it was done, and what went wrong at the others."""
    done, failures = [], []
    for place in places:
        try:
            act(release, place)
            done.append(place)
        except (SmOpsError, OSError) as error:
            failures.append(sanitise(error))
    return done, failures


def _bury(signer: CryptoSigner, release: Release, place: Place) -> None:
    """The tombstone in the index, and the statement beside the manifest.

    The index is signed by the builder's key, and where that is missing by the one who revokes.
    """
    publication.refuse_away(release, place)
    statement = (release.folder / REVOCATION).read_bytes()

    def update(entries: list[index.Entry]) -> list[index.Entry]:
        found = next((entry for entry in entries if entry["release"] == str(release)), None)
        entry = found or index.entry_of(release, fs.file_hash(release.folder / MANIFEST), None, None)
        return index.replaced(entries, entry | {"state": "revoked", "revocation": fs.sha256(statement)})

    index.change(place, signer if keys.is_lost(release.home) else keys.builder(release.home), update)
    place.put_once(f"{release}/{REVOCATION}", statement, publication.lock(policy.policy_of(release), "record"))


def _delete(release: Release, place: Place) -> None:
    place.remove(publication.staging_of(release))
    place.remove(f"{release}/", keep=[f"{release}/{path}" for path in RECORDS])


def _shred(release: Release) -> list[str]:
    shredded = []
    for dataset in _datasets(release):
        try:
            shredded.append(Vault(release.home / "vault").shred(dataset)["name"])
        except InputError as error:
            if error.code not in ("shredded", "unknown-dataset", "no-vault"):
                raise
    return shredded


def live_datasets(release: Release) -> list[str]:
    """The datasets of the vault that hold the release's mappings and are not destroyed yet."""
    vault = Vault(release.home / "vault")
    present = vault.names() if vault.exists() else []
    return [dataset for dataset in _datasets(release) if dataset in present]


def _datasets(release: Release) -> list[str]:
    origin = Origin.load(release)
    return origin.datasets if origin else []


def others_of(release: Release) -> list[str]:
    """Other releases of the home that were masked with the same mappings and are not revoked."""
    datasets = {*_datasets(release)}
    return [
        str(other)
        for other in all_releases(release.home)
        if other != release and not (other.folder / REVOCATION).is_file() and datasets & {*_datasets(other)}
    ]
