"""expire: published releases past their date, told in every index where they lie, and in their logs."""

from __future__ import annotations

from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import SmOpsError, sanitise
from sm_ops.release import index, keys, ledger, publication, states
from sm_ops.release.folder import MANIFEST, Release, all_releases
from sm_ops.release.ledger import Actor
from sm_ops.release.publication import Places
from sm_ops.storage.places import Place


def expire(home: Path) -> list[Release]:
    """The releases of a home that were found expired now; those of an earlier call are not told again.

    All are tried; then the first failure is raised, if there was one.
    """
    found, failures = [], []
    for release in all_releases(home):
        try:
            with ledger.opened(release):
                if _is_over(release) and _expire(release):
                    found.append(release)
        except (SmOpsError, OSError) as error:
            failures.append(sanitise(error))
    if failures:
        raise failures[0]
    return found


def _is_over(release: Release) -> bool:
    return states.is_published(release) and states.state_of(release).name == "expired"


def _expire(release: Release) -> bool:
    for place in Places.of(release).opened():
        publication.refuse_away(release, place)
        _tell(release, place)
    log = ledger.read_log(release)
    if any(line["action"] == "expire" for line in log):
        return False
    ledger.record(release, "expire", Actor.of(keys.builder(release.home), keys.BUILDER), {})
    return True


def _tell(release: Release, place: Place) -> None:
    manifest = fs.file_hash(release.folder / MANIFEST)

    def update(entries: list[index.Entry]) -> list[index.Entry]:
        return [
            entry | {"state": "expired"}
            if (entry["release"], entry["manifest"]) == (str(release), manifest) and entry["state"] != "revoked"
            else entry
            for entry in entries
        ]

    index.change(place, keys.builder(release.home), update)
