"""log: who did what to a release, and when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.errors import IntegrityError
from sm_ops.release import integrity, keys, ledger
from sm_ops.release.folder import Release, all_releases, existing
from sm_ops.release.reading import FolderReader

Json = dict[str, Any]


def log(home: Path, release: str | None = None, verify: bool = False) -> list[Json]:
    """The lines of one log, or of all by time; with `verify` they are also compared with their signed heads.

    Raises `IntegrityError` that names the line where one was removed, changed, reordered or cut.
    """
    chosen = [existing(home, release)] if release else all_releases(home)
    lines = [line for each in chosen for line in _lines(each, verify)]
    return sorted(lines, key=lambda line: line["time"])


def _lines(release: Release, verify: bool) -> list[Json]:
    with ledger.looked_at(release):
        if not verify:
            return ledger.read_log(release)
        try:
            reader = FolderReader(release.folder)
            manifest = integrity.read_manifest(reader)
            integrity.check_builder(manifest, keys.known_builder(release.home))
            return integrity.log_of(reader, manifest)
        except IntegrityError as error:
            raise IntegrityError(error.code, f"{release}: {error.hint}") from None
