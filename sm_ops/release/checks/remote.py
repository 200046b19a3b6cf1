"""What lies at the place of publication, or at a place that the policy names, has the digests of the manifest."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.release.checking import Bundle, Outcome, count, listed
from sm_ops.release.folder import DATA, MANIFEST
from sm_ops.release.publication import Places
from sm_ops.release.states import is_published
from sm_ops.storage.places import Place, open_place, read_digest


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """Compare the SHA-256 of each file at each place: all of a release there, the shards alone in a DVC remote."""
    try:
        places = _places(bundle, settings.place)
        if not places:
            return Outcome("unmeasured", "The release was not published yet, and the policy names no remote.")
        files = _files(bundle, settings.layout)
        wrong = sorted({path for place in places for path in _wrong(bundle, place, files, settings.layout)})
    except InputError as error:
        return Outcome("unmeasured", f"The remote cannot be asked [{error.code}].")
    measured = {"places": len(places), "files": len(files), "different": len(wrong)}
    if wrong:
        return Outcome("fail", f"Missing or other at the remote: {listed(wrong)}.", measured)
    return Outcome("pass", f"{count(len(files), 'file')} at the remote have the digests of the manifest.", measured)


def _places(bundle: Bundle, named: str | None) -> list[Place]:
    """The place that the policy names, or else where the release was published."""
    if named is not None:
        return [open_place(named)]
    return Places.of(bundle.release).opened() if is_published(bundle.release) else []


def _files(bundle: Bundle, layout: str) -> dict[str, str]:
    """What has to be there: SHA-256 by path."""
    files = {each["path"]: each["sha256"] for each in bundle.manifest["files"]}
    if layout == "dvc":
        return {path: digest for path, digest in files.items() if path.startswith(f"{DATA}/")}
    return {**files, MANIFEST: fs.file_hash(bundle.folder / MANIFEST)}


def _wrong(bundle: Bundle, place: Place, files: dict[str, str], layout: str) -> list[str]:
    """The files that are not there as the manifest lists them."""
    wrong = []
    for path, digest in files.items():
        key = _dvc_key(bundle.folder / path) if layout == "dvc" else f"{bundle.release}/{path}"
        try:
            if read_digest(place.read(key)) != digest:
                wrong.append(path)
        except FileNotFoundError:
            wrong.append(path)
    return sorted(wrong)


def _dvc_key(path: Path) -> str:
    """Where DVC 3 keeps a file: by its MD5."""
    with path.open("rb") as stream:
        name = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return f"files/md5/{name[:2]}/{name[2:]}"
