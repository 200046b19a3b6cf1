"""The releases of a home in MLflow: what their files say, sent there; nothing comes back."""

from __future__ import annotations

import sys
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import SmOpsError
from sm_ops.release.folder import MANIFEST, Release
from sm_ops.release.verbs.ls import DAMAGED, MISSING, ls
from sm_ops.tracking.releases import Facts, digest, mirror
from sm_ops.tracking.spool import is_mirrored, is_used


def mirror_releases(home: Path) -> list[str]:
    """Mirror all releases; the names of those that the server knew otherwise. Raises `InputError` where it is away."""
    return mirror(_all_facts(home), home)


def mirror_where_tracked(home: Path) -> None:
    """What follows a verb: where the home's runs are tracked, its releases are mirrored; a failure is one sentence.

    Where nothing is new since the last time, the server is not asked.
    """
    if not is_used(home):
        return
    try:
        facts = _all_facts(home)
        if not is_mirrored(digest(facts), home):
            mirror(facts, home)
    except SmOpsError as error:
        print(f"sm-ops: {error}", file=sys.stderr)


def _all_facts(home: Path) -> list[Facts]:
    """Of every release whose state can be told; of one that is damaged or missing, the server keeps what it has."""
    rows = [row for row in ls(home) if row["state"] not in (DAMAGED, MISSING)]
    return [_facts(Release(home, row["name"], row["version"]), row["state"]) for row in rows]


def _facts(release: Release, state: str) -> Facts:
    manifest = fs.file_hash(release.folder / MANIFEST)
    run = fs.read_json(release.origin)["run"] if release.origin.is_file() else None
    return Facts(release.name, release.version, state, manifest, run)
