"""What commands and reports call: keep a run's data, send it, bring it back, and see what is amiss."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run, all_runs
from sm_ops.core.registry import did_you_mean
from sm_ops.core.store import Record, Store
from sm_ops.versioning.code import code_commit
from sm_ops.versioning.data.entries import DATA, REMOTES, Entry, RemoteName, is_data
from sm_ops.versioning.data.places import Absent, Cache, Remote
from sm_ops.versioning.data.refusals import examine
from sm_ops.versioning.data.repository import Repository, open_repository

# ---- versioning ----------------------------------------------------------------------------------------


def keep(run: Run, home: Path) -> None:
    """Link a run that has just ended to the commit of its code, version its data, and send what was not sent yet.

    `InputError` where something of it fails; `push` does what is left then.
    """
    if run.links()["git"] is None:
        run.link(git=code_commit())
    if _record(run, home):
        _send(home, everything=False)


def _record(run: Run, home: Path) -> bool:
    """False, and nothing done, for a run whose data is gone."""
    store, cache = Store(home), Cache(home)
    steps = {name: step for name, step in run.steps.items() if step["stage"] in DATA}
    records = {name: store.find(step["stage"], step["fingerprint"]) for name, step in steps.items()}
    outputs = [(n, r, o) for n, r in records.items() if r for o in r.outputs if is_data(r.stage, o)]
    if not all(records.values()):
        return False
    repository = Repository(home)
    with repository.changing():
        known = {entry.path: entry for entry in repository.entries("HEAD", run.name)}
        entries = []
        for name, record, output in outputs:
            path = f"{run.name}/{name}/{output}"
            entries.append(_entry(path, record, output, known.get(path), store, cache))
        message = f"{run.id}\n\nRun: {run.id}\nCode: {run.links()['git'] or 'of no checkout'}"
        revision = repository.save(run.id, entries, message)
    run.link(data=revision)
    return True


def _entry(path: str, record: Record, output: str, known: Entry | None, store: Store, cache: Cache) -> Entry:
    """An output as it is versioned; its bytes are in the cache then. What is known and there is not read again."""
    stored = record.outputs[output]
    if known and (known.sha256, known.cls) == (stored.sha256, stored.cls) and cache.has(known):
        return known
    source = store.output_path(record, output)
    md5, sha256 = examine(source, f"{record.step}/{output}", store.home)
    if sha256 != stored.sha256:
        hint = f"{record.step}/{output} is not what its step wrote; make it again: sm-ops stage {record.step}"
        raise InputError("data-damaged", hint)
    entry = Entry(path, md5, source.stat().st_size, sha256, stored.cls)
    cache.add(entry, source)
    return entry


# ---- remotes -------------------------------------------------------------------------------------------


def push(home: Path) -> tuple[list[str], int]:
    """Version what is not yet, and bring to each remote whatever it lacks of all history.

    Returns the ids of the runs that were versioned, and how many files were sent.
    """
    versioned = [run.id for run in unversioned(home) if _record(run, home)]
    return versioned, _send(home, everything=True) if Repository(home).exists else 0


def unversioned(home: Path) -> list[Run]:
    """Runs that the repository does not know, the oldest first: their data is not versioned yet, or it was lost."""
    repository = Repository(home)
    known = {version.run for version in repository.versions()} if repository.exists else set()
    return [run for run in all_runs(home) if run.id not in known]


def _send(home: Path, everything: bool) -> int:
    """One remote's failure does not keep the other from its data; the first one is raised in the end."""
    repository, cache = Repository(home), Cache(home)
    sent, failures = 0, []
    for name in REMOTES:
        head = repository.head
        entries = repository.ever(name) if everything else repository.unsent(name)
        try:
            if entries:
                remote = _remote(repository, name)
                sent += remote.send(entries, cache)
            repository.mark_sent(name, head)
        except InputError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return sent


def _remote(repository: Repository, name: RemoteName) -> Remote:
    """A remote that may take the data of its class. The folders in the home are marked when they are first needed."""
    remote = Remote(name, repository.url(name))
    own = "://" not in remote.url and Path(remote.url).is_relative_to(repository.home.resolve())
    remote.mark() if own else remote.check()
    return remote


def remotes(home: Path) -> dict[str, str]:
    """Where each remote is."""
    repository = open_repository(home)
    return {name: repository.url(name) for name in REMOTES}


def set_remote(home: Path, name: RemoteName, place: str) -> str:
    """Make a folder or `s3://BUCKET/PREFIX` a remote: marked with its class now, filled by the next `push`.

    `InputError` for one that is marked with the other class, lies inside the other, or cannot be reached.
    """
    url = _url(place)
    repository = Repository(home)
    with repository.changing():
        for other in REMOTES:
            if other != name and _overlap(url, repository.url(other)):
                hint = f"{url} and the remote {other} lie in one another; restricted data needs a place of its own."
                raise InputError("remote-overlap", hint)
        Remote(name, url).mark()
        repository.set_url(name, url)
    return url


def _url(place: str) -> str:
    if re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]+(/[\w.!*'()/-]*)?", place):
        return place.rstrip("/")
    if "://" in place or "@" in place or not place:
        raise InputError("remote-place", "A remote is a folder, or s3://BUCKET/PREFIX without credentials in it.")
    return str(Path(place).resolve())


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def remote_problems(home: Path) -> list[str]:
    """What git says and the remotes lack, and what is not versioned or may be read by others; a sentence each."""
    found = []
    if count := len(unversioned(home)):
        found.append(f"the data of {count} runs is not versioned; version it with: sm-ops data push")
    repository = Repository(home)
    if not repository.exists:
        return found
    for name in REMOTES:
        entries = repository.ever(name)
        try:
            lacking = _remote(repository, name).lacking(entries) if entries else []
        except InputError as error:
            found.append(error.hint)
            continue
        if lacking:
            some = ", ".join(entry.path for entry in lacking[:3]) + (", ..." if len(lacking) > 3 else "")
            told = f"the remote {name} lacks {len(lacking)} of {len(entries)} data files ({some})"
            found.append(f"{told}; send them with: sm-ops data push")
    return found


# ---- back again ----------------------------------------------------------------------------------------


def versions(home: Path) -> list[dict[str, str | int]]:
    """Each run's data: run, revision, date, how many files and bytes."""
    repository = Repository(home)
    rows = []
    for version in repository.versions():
        entries = repository.entries(version.commit, version.pipeline)
        about = {"files": len(entries), "bytes": sum(entry.size for entry in entries)}
        rows.append({"run": version.run, "revision": version.commit, "date": version.date, **about})
    return rows


def files(home: Path, revision: str) -> list[Entry]:
    """The data of a revision: a run's id or its beginning, or a commit."""
    repository = open_repository(home)
    return repository.entries(*repository.find(revision))


def checkout(home: Path, revision: str, names: Sequence[str], out: Path | None) -> list[Path]:
    """Bring data back, byte for byte, to `OUT/STEP/OUTPUT`; where it is there already, it stays.

    `names` chooses steps, or outputs as `STEP/OUTPUT`. The folder is its owner's alone, and by default below the
    restricted root. `InputError` before anything is written over another file.
    """
    repository, cache = open_repository(home), Cache(home)
    commit, pipeline = repository.find(revision)
    entries = _chosen(repository.entries(commit, pipeline), names)
    folder = out or fs.private_folder(home / "restricted") / "checkouts" / commit[:12]
    targets = {entry: folder / (entry.path if pipeline is None else entry.name) for entry in entries}
    todo = {entry: target for entry, target in targets.items() if not _is(target, entry)}
    for target in todo.values():
        if target.exists():
            raise InputError("checkout-differs", f"{target} is there and is other data; choose another --out.")
    for entry, target in todo.items():
        fs.private_folder(target.parent)
        _bring(entry, repository, cache)
        with fs.replacing(target) as unfinished:
            shutil.copyfile(cache.path(entry), unfinished)
            unfinished.chmod(0o600)
            fs.fsync(unfinished)
    return list(targets.values())


def _chosen(entries: list[Entry], names: Sequence[str]) -> list[Entry]:
    known = {name for entry in entries for name in (entry.name, entry.name.partition("/")[0])}
    for name in names:
        if name not in known:
            raise InputError("unknown-data", f"That revision has no data {name!r}; {did_you_mean(name, known)}.")
    return [e for e in entries if not names or e.name in names or e.name.partition("/")[0] in names]


def _bring(entry: Entry, repository: Repository, cache: Cache) -> None:
    """The right bytes into the cache: what is damaged there is fetched again."""
    if cache.has(entry) and fs.file_hash(cache.path(entry)) == entry.sha256:
        return
    cache.drop(entry)
    remote = _remote(repository, entry.remote)
    try:
        remote.fetch(entry, cache)
    except Absent:
        hint = f"{entry.path} is neither in this home nor on the remote {remote.name} ({remote.url})."
        raise InputError("data-gone", hint) from None
    if fs.file_hash(cache.path(entry)) != entry.sha256:
        cache.drop(entry)
        raise InputError("data-damaged", f"{entry.path} is damaged on the remote {remote.name} ({remote.url}).")


def _is(path: Path, entry: Entry) -> bool:
    return path.is_file() and path.stat().st_size == entry.size and fs.file_hash(path) == entry.sha256
