"""The store: results by fingerprint, whole or absent, restricted outputs under a root of their own.

    HOME/store/STAGE/ID/        internal and public outputs, and record.json, which makes the result exist
    HOME/restricted/STAGE/ID/   restricted outputs (HOME/restricted has mode 0700)
    HOME/locks/                 one operating-system lock per result, freed when its holder dies

Reading changes nothing: a home may lie on a read-only disk until a step has to be made.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.stage import Numbers, Output, Step

FORMAT = "record/1"


@dataclass(frozen=True)
class Stored:
    """One output as the record knows it: class, hash of its content, and size, mtime and hash by file."""

    cls: str
    sha256: str
    files: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Record:
    """What a finished step leaves behind: names, hashes, counts and numbers, never data."""

    step: str
    stage: str
    fingerprint: str
    payload: dict[str, Any]
    outputs: dict[str, Stored]
    numbers: Numbers
    seconds: float
    finished: str

    @property
    def id(self) -> str:
        """The short form of the fingerprint that names the result's folder."""
        return self.fingerprint[:16]

    def hash_of(self, output: str) -> str:
        """Content hash of one output."""
        return self.outputs[output].sha256

    def to_json(self) -> dict[str, Any]:
        """The content of record.json."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Record:
        """Read record.json, or refuse another version in words."""
        if value.get("format") != FORMAT:
            raise InputError(
                "record-format",
                f"The stored record has format {value.get('format')!r}, this version reads {FORMAT!r}; "
                "remove the store or use the version that wrote it.",
            )
        outputs = {name: Stored(**stored) for name, stored in value["outputs"].items()}
        rest = {key: value[key] for key in value if key not in ("format", "outputs")}
        return cls(outputs=outputs, **rest)


@dataclass(frozen=True)
class Workspace:
    """Where a step writes until it is committed, and the scratch folder that outlives a killed run."""

    internal: Path
    restricted: Path
    scratch: Path

    def path(self, output: Output) -> Path:
        """Where the stage writes one output."""
        return (self.restricted if output.cls == "restricted" else self.internal) / output.name


class Store:
    """Results below one home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.internal = home / "store"
        self.restricted = home / "restricted"
        self.locks = home / "locks"

    def output_path(self, record: Record, output: str) -> Path:
        """Where an output of a stored result lies."""
        root = self.restricted if record.outputs[output].cls == "restricted" else self.internal
        return root / record.stage / record.id / output

    def find(self, stage: str, fingerprint: str) -> Record | None:
        """The stored result, if it is there and every file is what its record says."""
        record = _read(self._folder(stage, fingerprint) / "record.json")
        if record is None or record.fingerprint != fingerprint:
            return None
        try:
            return record if all(self._intact(record, output) for output in record.outputs) else None
        except FileNotFoundError:  # removed while we looked
            return None

    def has_remains(self, stage: str, fingerprint: str) -> bool:
        """Whether this very result was stored once, intact or not."""
        return self._folder(stage, fingerprint).exists()

    def newest(self, step: str, stage: str) -> Record | None:
        """The last finished result of a step, whatever its fingerprint."""
        records = []
        for path in (self.internal / stage).glob("*/record.json"):
            with suppress(InputError):  # of another format
                records.append(_read(path))
        return max((r for r in records if r and r.step == step), key=lambda r: r.finished, default=None)

    @contextmanager
    def lock(self, step: Step, fingerprint: str, waiting: Callable[[str], None]) -> Iterator[None]:
        """Hold the result's lock; `waiting` hears whom we wait for, once."""
        self.locks.mkdir(parents=True, exist_ok=True)
        path = self.locks / f"{step.stage.name}-{fingerprint[:16]}.lock"
        holder = path.with_suffix(".holder")
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waiting(f"waiting for {_read_holder(holder)}, which is making the same result")
            lock.acquire()
        try:
            fs.write_json(holder, {"pid": os.getpid(), "step": step.name})
            yield
        finally:
            with suppress(OSError):
                holder.unlink()
            lock.release()

    @contextmanager
    def workspace(self, step: Step, fingerprint: str) -> Iterator[Workspace]:
        """Fresh folders for a step's outputs; the caller holds the lock, so leftovers are of the dead.

        What is not committed is removed in the end; only the scratch folder stays for another try.
        """
        name = f"{step.stage.name}-{fingerprint[:16]}"
        fs.private_folder(self.restricted)
        workspace = Workspace(
            self.internal / ".tmp" / name,
            self.restricted / ".tmp" / name,
            self.restricted / ".scratch" / name,
        )
        for folder in (workspace.internal, workspace.restricted):
            _remove(folder)
            folder.mkdir(parents=True)
        workspace.scratch.mkdir(parents=True, exist_ok=True)
        try:
            yield workspace
        finally:
            for folder in (workspace.internal, workspace.restricted):
                shutil.rmtree(folder, ignore_errors=True)

    def commit(self, record: Record, workspace: Workspace) -> None:
        """Publish a finished step: a damaged predecessor's record goes first, the new record comes last."""
        fs.write_json(workspace.internal / "record.json", record.to_json())
        internal, restricted = (root / record.stage / record.id for root in (self.internal, self.restricted))
        for old in (internal, restricted):
            _remove(old)
        for source, target in ((workspace.restricted, restricted), (workspace.internal, internal)):
            fs.fsync(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, target)
            fs.fsync(target.parent)
        shutil.rmtree(workspace.scratch, ignore_errors=True)

    def describe(self, output: Output, path: Path) -> Stored:
        """Hash and flush one written output; a restricted one is its owner's alone, file by file."""
        if not path.exists():
            raise RuntimeError(f"the stage did not write its output {output.name!r}")
        files = {}
        for name, file in fs.files_below(path):
            if output.cls == "restricted":
                file.chmod(0o600)
            fs.fsync(file)
            fs.fsync(file.parent)
            status = file.stat()
            files[name] = {"sha256": fs.file_hash(file), "size": status.st_size, "mtime_ns": status.st_mtime_ns}
        return Stored(output.cls, fs.tree_hash({n: f["sha256"] for n, f in files.items()}), files)

    def _folder(self, stage: str, fingerprint: str) -> Path:
        return self.internal / stage / fingerprint[:16]

    def _intact(self, record: Record, output: str) -> bool:
        """Same files, same sizes, and the same times or else the same hashes."""
        found = dict(fs.files_below(self.output_path(record, output)))
        files = record.outputs[output].files
        return found.keys() == files.keys() and all(_same(found[name], files[name]) for name in files)


def _read(path: Path) -> Record | None:
    """A record, or None where there is none or it is damaged; `InputError` for one of another version."""
    try:
        return Record.from_json(fs.read_json(path))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _same(path: Path, known: dict[str, Any]) -> bool:
    status = path.stat()
    if status.st_size != known["size"]:
        return False
    return status.st_mtime_ns == known["mtime_ns"] or fs.file_hash(path) == known["sha256"]


def _read_holder(path: Path) -> str:
    try:
        holder = fs.read_json(path)
        return f"process {holder['pid']} (step {holder['step']})"
    except (OSError, ValueError, KeyError):
        return "another process"
