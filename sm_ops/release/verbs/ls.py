"""ls: the releases of a home and where each stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.errors import sanitise
from sm_ops.release import ledger, remembered
from sm_ops.release.folder import MANIFEST, Release, gone, releases_folder
from sm_ops.release.states import next_command, state_of

DAMAGED, MISSING = "damaged", "missing"


def ls(home: Path) -> list[dict[str, Any]]:
    """`name`, `version`, `state`, `path` of every release, the verb that is `due`, the `next` command, or a `problem`.

    The last three are null where there is none. A release whose state cannot be read, or which was set back, is
    `damaged`, one that this home remembers and does not have `missing`; the others are listed all the same.
    """
    folders = [path for path in releases_folder(home).glob("[!.]*@*") if path.is_dir()]
    present = [Release(home, *folder.name.split("@", 1)) for folder in folders]
    missing = {str(release): _told(release, MISSING, problem=gone(release)) for release in remembered.all_gone(home)}
    rows = {str(release): _row(release) for release in present}
    return [row for _, row in sorted((rows | missing).items())]


def _row(release: Release) -> dict[str, Any]:
    state, due, command, problem = DAMAGED, None, None, None
    try:
        with ledger.looked_at(release):
            if release.exists():
                found = state_of(release)
                state, due, command = found.name, found.due, next_command(release, found)
            else:
                problem = f"{MANIFEST} is missing; it was removed."
    except Exception as error:  # of any kind: a file of it may hold anything
        problem = sanitise(error).hint
    return _told(release, state, due, command, problem)


def _told(
    release: Release, state: str, due: str | None = None, command: str | None = None, problem: str | None = None
) -> dict[str, Any]:
    row = {"name": release.name, "version": release.version, "state": state, "path": str(release.folder)}
    return row | {"due": due, "next": command, "problem": problem}
