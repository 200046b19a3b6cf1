"""The git repository of a home's data: small `.dvc` files alone, a commit a change, a tag a run."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.versioning.data.entries import ENDING, Entry, RemoteName
from sm_ops.versioning.git import git

_PATIENCE = 60
"""Seconds to wait for another process's short change."""
_IGNORED = "*\n!*/\n!*.dvc\n!.gitignore\n!/.dvc/config\n"
_CONFIG = """\
[core]
    analytics = false
    autostage = false
    check_update = false
    remote = default
[cache]
    dir = ../../restricted/data-cache
['remote "default"']
    url = ../../data-remote
['remote "restricted"']
    url = ../../restricted/data-remote
"""


@dataclass(frozen=True)
class Version:
    """A run's data: the run's id, the commit, and its date (ISO 8601)."""

    run: str
    commit: str
    date: str

    @property
    def pipeline(self) -> str:
        """The pipeline's name, by which its entries' paths begin."""
        return self.run.rpartition("-")[0]


class Repository:
    """`HOME/data`; every failure of git is an `InputError`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "data"

    @property
    def exists(self) -> bool:
        """Whether it was made, with a first commit."""
        refs = self.root / ".git"
        made = (refs / "refs" / "heads" / "main").is_file() or (refs / "packed-refs").is_file()
        return made and (self.root / ".dvc" / "config").is_file()

    @property
    def head(self) -> str:
        """The newest commit."""
        return self._git("rev-parse", "HEAD")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change it alone, from its last commit on: what a killed process left is discarded."""
        lock = self.home / "locks" / "data.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(lock, timeout=_PATIENCE):
                self._prepare()
                yield
        except Timeout:
            hint = f"Another process has held {lock} for {_PATIENCE} s; run the same command again."
            raise InputError("data-busy", hint) from None

    def _prepare(self) -> None:
        fs.private_folder(self.root)
        for stale in (self.root / ".git").rglob("*.lock"):
            stale.unlink(missing_ok=True)
        if self.exists:
            if self._git("status", "--porcelain"):
                self._git("reset", "--quiet", "--hard")
                self._git("clean", "--quiet", "--force", "-d")
            return
        self._git("init", "--quiet", "--initial-branch=main", ".")
        if not (self.root / ".dvc" / "config").is_file():
            fs.write_atomic(self.root / ".gitignore", _IGNORED.encode())
            fs.write_atomic(self.root / ".dvc" / ".gitignore", b"/config.local\n/tmp\n/cache\n")
            fs.write_atomic(self.root / ".dvc" / "config", _CONFIG.encode())
        self._commit("A repository of data")

    # ---- remotes -------------------------------------------------------------------------------------------

    def url(self, remote: RemoteName) -> str:
        """Where a remote is: an absolute folder, or `s3://BUCKET/PREFIX`."""
        url = self._settings().get(_section(remote), "url", fallback="")
        return url if "://" in url else str((self.root / ".dvc" / url).resolve())

    def set_url(self, remote: RemoteName, url: str) -> None:
        """Commit another place for a remote; nothing counts as sent there yet. The caller is `changing`."""
        settings = self._settings()
        settings.read_dict({_section(remote): {"url": url}})
        with fs.replacing(self.root / ".dvc" / "config") as path, path.open("w", encoding="utf-8") as stream:
            settings.write(stream)
        self._commit(f"Remote {remote}")
        self._git("update-ref", "-d", _sent(remote))

    def _settings(self) -> configparser.ConfigParser:
        settings, path = configparser.ConfigParser(interpolation=None), self.root / ".dvc" / "config"
        try:
            settings.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            hint = f"{path} cannot be read as settings of DVC; put it right, or: git -C {self.root} checkout {path}"
            raise InputError("data-settings", hint) from None
        return settings

    def mark_sent(self, remote: RemoteName, commit: str) -> None:
        """Remember that a remote has all data up to a commit."""
        self._git("update-ref", _sent(remote), commit)

    def unsent(self, remote: RemoteName) -> list[Entry]:
        """What a remote has not been sent yet."""
        known = self._asks("rev-parse", "--verify", _sent(remote))
        return self._of(remote, f"{_sent(remote)}..HEAD" if known else "HEAD")

    def ever(self, remote: RemoteName) -> list[Entry]:
        """All data of the history that belongs on a remote."""
        return self._of(remote, "HEAD")

    def _of(self, remote: RemoteName, commits: str) -> list[Entry]:
        objects = self._git("rev-list", "--objects", commits).splitlines()
        named = (line.partition(" ") for line in objects)
        found = self._read((blob, path) for blob, _, path in named if path.endswith(ENDING) and path != ENDING)
        return list({entry.md5: entry for entry in found if entry.remote == remote}.values())

    # ---- versions ------------------------------------------------------------------------------------------

    def save(self, run: str, entries: Iterable[Entry], message: str) -> str:
        """Make entries those of a run's pipeline, and return the commit that has them so. The caller is `changing`."""
        pipeline = run.rpartition("-")[0]
        shutil.rmtree(self.root / pipeline, ignore_errors=True)
        for entry in entries:
            fs.write_atomic(self.root / f"{entry.path}{ENDING}", entry.to_yaml().encode())
        self._commit(message)
        commit = self._git("log", "-1", "--format=%H", "--", pipeline)
        self._git("tag", "--force", _tag(run), commit)
        return commit

    def _commit(self, message: str) -> None:
        self._git("add", "--all", ".")
        if not self.exists or not self._asks("diff", "--cached", "--quiet"):
            self._git("commit", "--quiet", "--no-gpg-sign", "--message", message)

    def entries(self, commit: str, pipeline: str | None = None) -> list[Entry]:
        """The data of a commit, sorted by path; of one pipeline, or of all."""
        lines = self._git("ls-tree", "-r", commit, *([f"{pipeline}/"] if pipeline else [])).splitlines()
        rows = (line.split("\t") for line in lines if line.endswith(ENDING))
        return sorted(self._read((about.split()[2], path) for about, path in rows), key=lambda entry: entry.path)

    def _read(self, files: Iterable[tuple[str, str]]) -> list[Entry]:
        """`.dvc` files by `(blob, path)`, all read by one process."""
        files = list(files)
        if not files:
            return []
        answer = self._git("cat-file", "--batch", given="".join(f"{blob}\n" for blob, _ in files))
        entries = []
        for _, path in files:
            header, _, answer = answer.partition("\n")
            size = int(header.split()[2])
            entries.append(Entry.from_yaml(path.removesuffix(ENDING), answer[:size]))
            answer = answer[size + 1 :]
        return entries

    def versions(self) -> list[Version]:
        """Each run's data, the oldest first."""
        if not self.exists:
            return []
        form = "%(refname:lstrip=3) %(objectname) %(creatordate:iso-strict)"
        lines = self._git("for-each-ref", "--sort=creatordate", f"--format={form}", "refs/tags/run").splitlines()
        return [Version(run.replace("%2E", "."), *rest) for run, *rest in map(str.split, lines)]

    def find(self, revision: str) -> tuple[str, str | None]:
        """A commit and the pipeline whose data it changed, by a run's id or its beginning, or by the commit."""
        versions = self.versions()
        if named := [version for version in versions if version.run.startswith(revision)]:
            exact = [version for version in named if version.run == revision]
            chosen = (exact or named)[-1]
            return chosen.commit, chosen.pipeline
        if not self.exists or not self._asks("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}"):
            hint = f"No run's data has the revision {revision!r}; see: sm-ops data ls"
            raise InputError("unknown-revision", hint)
        commit = self._git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        return commit, next((version.pipeline for version in versions if version.commit == commit), None)

    # ---- git -----------------------------------------------------------------------------------------------

    def _git(self, *arguments: str, given: str = "") -> str:
        try:
            return git(self.root, *arguments, given=given)
        except FileNotFoundError:
            hint = "There is no program git, which keeps versions of data; install it and run the same command again."
            raise InputError("no-git", hint) from None
        except subprocess.CalledProcessError as error:
            hint = f"git {arguments[0]} ended with {error.returncode} in {self.root}; see: git -C {self.root} status"
            raise InputError("git-failed", hint) from None

    def _asks(self, *arguments: str) -> bool:
        """Whether git answers yes."""
        try:
            self._git(*arguments)
        except InputError as error:
            if error.code != "git-failed":
                raise
            return False
        return True


def open_repository(home: Path) -> Repository:
    """The repository of a home's data, for reading; `InputError` where nothing was versioned."""
    repository = Repository(home)
    if not repository.exists:
        raise InputError("no-data", f"No run's data is versioned under {home}; make a run with: sm-ops run")
    return repository


def _section(remote: RemoteName) -> str:
    return f"'remote \"{remote}\"'"


def _sent(remote: RemoteName) -> str:
    return f"refs/sent/{remote}"


def _tag(run: str) -> str:
    """A tag's name may hold no two dots in a row."""
    return f"run/{run.replace('..', '.%2E')}"
