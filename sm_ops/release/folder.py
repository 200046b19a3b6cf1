"""Where releases lie, how they are named, and which files a bundle has.

    HOME/releases/NAME@VERSION/         the bundle
        data/SHARD                      what is released
        manifest.json                   every file of `build`: SHA-256, size, rows
        config.json, policy.yaml, lineage.json, packages.cdx.json, croissant.json, frontier.svg, evidence/*.json
        manifest.dsse.json              the builder's signature on the manifest
        checks.json, README.md, report.html, waivers/CHECK.dsse.json          written by `check`
        decision.dsse.json              the request, with the signatures of who approved it
        rejection.dsse.json, publication.dsse.json, revocation.dsse.json
        log.jsonl, log.head.dsse.json   the chained log, and its signed head
    HOME/releases/approvers.yaml        public keys and roles
    HOME/releases/.work/                unfinished bundles and changes; nothing there is a release
    HOME/restricted/releases/           never in the bundle: where a release's sources lie, for its checks, where it is
                                        published, and the newest line of its log

What the manifest lists never changes. Everything else is written through the ledger, whose lines hold its digests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from sm_ops.core.errors import InputError, IntegrityError

FORMAT = "release/1"
DATA = "data"
MANIFEST, MANIFEST_SIGNED = "manifest.json", "manifest.dsse.json"
POLICY, CONFIG, LINEAGE, PACKAGES, CROISSANT = (
    "policy.yaml",
    "config.json",
    "lineage.json",
    "packages.cdx.json",
    "croissant.json",
)
FRONTIER, EVIDENCE = "frontier.svg", "evidence"
CHECKS, CARD, REPORT, WAIVERS = "checks.json", "README.md", "report.html", "waivers"
DECISION, REJECTION = "decision.dsse.json", "rejection.dsse.json"
PUBLICATION, REVOCATION = "publication.dsse.json", "revocation.dsse.json"
LOG, HEAD = "log.jsonl", "log.head.dsse.json"
APPROVERS, WORK, INDEX = "approvers.yaml", ".work", "index.json"
HEAD_SUFFIX = "~head.json"
"""Like all that has a `~`, the end of no release's name."""
LATE = (MANIFEST_SIGNED, CHECKS, CARD, REPORT, DECISION, REJECTION, PUBLICATION, REVOCATION)
"""What the manifest cannot list: files of fixed names that the ledger writes (and those below `waivers/`)."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_PATIENCE = 60
"""Seconds to wait for another command on the same release."""


@dataclass(frozen=True)
class Release:
    """A release of one home: its name, its version and its folder, which may not exist yet."""

    home: Path
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def folder(self) -> Path:
        """The bundle."""
        return releases_folder(self.home) / str(self)

    @property
    def work(self) -> Path:
        """Where the release's unfinished files are, hidden from readers."""
        return releases_folder(self.home) / WORK

    @property
    def origin(self) -> Path:
        """The restricted file that says where the sources lie."""
        return restricted_folder(self.home) / f"{self}.json"

    @property
    def head(self) -> Path:
        """The restricted file that says which line of the log this home has seen last."""
        return restricted_folder(self.home) / f"{self}{HEAD_SUFFIX}"

    def exists(self) -> bool:
        """Whether it was built."""
        return (self.folder / MANIFEST).is_file()


def releases_folder(home: Path) -> Path:
    """Where the releases of a home lie."""
    return home / "releases"


def restricted_folder(home: Path) -> Path:
    """Where lies what only the owner of a home may know of its releases."""
    return home / "restricted" / "releases"


def named(home: Path, text: str) -> Release:
    """`NAME@VERSION`, or the path of a bundle of this home. Raises `InputError` for another form."""
    path = Path(text)
    if path.is_dir() and path.resolve().parent == releases_folder(home).resolve():
        text = path.resolve().name
    name, _, version = text.partition("@")
    if not (_NAME.fullmatch(name) and _VERSION.fullmatch(version)):
        hint = (
            f"{text!r} is not of the form NAME@VERSION: lower-case letters, digits, '.', '_' and '-', for example "
            "notes@1.0; see: sm-ops release ls"
        )
        raise InputError("release-name", hint)
    return Release(home, name, version)


def existing(home: Path, text: str) -> Release:
    """A release that was built. Raises `InputError` where none was, `IntegrityError` where it was removed since."""
    release = named(home, text)
    if not release.exists():
        if release.head.is_file():
            raise IntegrityError("release-gone", gone(release))
        raise InputError("no-release", f"There is no release {release} in {home}; see: sm-ops release ls")
    return release


def gone(release: Release) -> str:
    """What to say of a release that the home remembers and does not have."""
    return (
        f"{release} is missing: people have decided on it in this home, and {release.folder / MANIFEST} was removed. "
        "Bring the folder back, from a backup or the place where it is published; another build is another version."
    )


def all_releases(home: Path) -> list[Release]:
    """The releases of a home by name and version."""
    folders = sorted(path.parent for path in releases_folder(home).glob(f"[!.]*/{MANIFEST}"))
    return [Release(home, *folder.name.split("@", 1)) for folder in folders if "@" in folder.name]


@contextmanager
def locked(release: Release) -> Iterator[None]:
    """Hold the release against every other command that changes it; the lock dies with its holder."""
    with locked_file(release.home / "locks" / f"release-{release}.lock", str(release)):
        yield


@contextmanager
def locked_file(path: Path, what: str) -> Iterator[None]:
    """Hold a lock that dies with its holder, or say after a minute that another command works on `what`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        hint = f"Another command works on {what} and has not ended within {_PATIENCE} s; try again later."
        raise InputError("release-locked", hint) from None
    try:
        yield
    finally:
        lock.release()


def files_of(folder: Path) -> dict[str, Path]:
    """Whatever is in a bundle, by relative path: links, pipes and (ending with `/`) empty folders too."""
    found = {}
    for root, folders, names in os.walk(folder):
        links = [name for name in folders if Path(root, name).is_symlink()]
        if not (folders or names) and Path(root) != folder:
            found[f"{Path(root).relative_to(folder).as_posix()}/"] = Path(root)
        for name in (*names, *links):
            path = Path(root, name)
            found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))
