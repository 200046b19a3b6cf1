"""The vault: datasets of mappings and known values, each under a data key of its own that a master key wraps.

    HOME/vault/                      mode 0700, every file 0600
      vault.json                     id of the vault, and the master key for what is new
      datasets/NAME/manifest.json    what the dataset has; replacing this file is what publishes
      datasets/NAME/key-ID.json      its data key, wrapped
      datasets/NAME/ID.segment       encrypted frames
      shredded/NAME.json             when datasets of that name were destroyed, and how much they held
      writing/                       what a writer has not published yet; its keys are in the writer's memory alone
      lock                           held by whoever changes what is published

Reading takes no lock: it opens what a manifest names, and looks again when that was replaced in between.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import home_folder
from sm_ops.core.registry import did_you_mean
from sm_ops.vault import keys
from sm_ops.vault.dataset import Dataset, clear_of, discard, has_key, is_name, is_segment, key_files, key_name
from sm_ops.vault.entries import (
    INDEX,
    RECORDS,
    VALUES,
    Mappings,
    MappingWriter,
    distinct,
    read_values,
    spellings,
    write_values,
)
from sm_ops.vault.files import destroy, erase, overwrite, size, write
from sm_ops.vault.graves import Grave, Graves
from sm_ops.vault.sealed import FORMAT, MANIFEST, Header, KeyFile, Manifest
from sm_ops.vault.segment import Owner, Segment, SegmentReader

_TRIES = 3
_KEY_CODES = {"no-key", "wrong-key", "key-permissions", "key-file", "bad-key", "kms-unreachable", "kms-refused"}
T = TypeVar("T")


class Vault:
    """A vault in a folder; the folder beside which the key file lies by default."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or home_folder() / "vault"
        self._header_path = self.folder / "vault.json"
        self._datasets = self.folder / "datasets"
        self._shredded = self.folder / "shredded"
        self._graves = Graves(self._shredded)
        self._writing = self.folder / "writing"

    # ---- making --------------------------------------------------------------------------------------------

    @property
    def key_file(self) -> Path:
        """Where the key file lies unless a user chose another place: beside the folder, not in it."""
        return self.folder.with_name(f"{self.folder.name}.key")

    def exists(self) -> bool:
        """Whether the vault was made."""
        return self._header_path.is_file()

    def init(self, key_source: str | None = None) -> str:
        """Make the vault under a master key (`env`, `file:PATH`, `kms:KEY_ID`; default a key file beside the folder).

        Returns the key source. Raises `InputError` where a vault is already, and for a key that is not usable.
        """
        self._make_folders()
        with self._lock():
            if self.exists():
                hint = f"There is a vault at {self.folder} already; see: sm-ops vault status"
                raise InputError("vault-exists", hint)
            return self._init(f"file:{self.key_file}" if key_source is None else key_source)

    def ensure(self) -> bool:
        """Make a vault where there is none, under `SM_OPS_VAULT_KEY` if set, else a key file; whether it did."""
        if self.exists():
            return False
        self._make_folders()
        with self._lock():
            if self.exists():
                return False
            self._init("env" if os.environ.get(keys.VARIABLE) else f"file:{self.key_file}")
            return True

    def _init(self, key_source: str) -> str:
        self._check_not_lost()
        master = self._chosen(key_source)
        Header(secrets.token_hex(16), master.source, master.check).save(self._header_path)
        return master.source

    def _chosen(self, key_source: str, variable: str = keys.VARIABLE) -> keys.MasterKey:
        place = Path(key_source.removeprefix("file:")).expanduser().absolute()
        if key_source.startswith("file:") and place.is_relative_to(self.folder.absolute()):
            hint = f"A key inside {self.folder} would go wherever the vault is copied to; choose a place outside."
            raise InputError("key-place", hint)
        return keys.chosen(key_source, variable)

    def _check_not_lost(self) -> None:
        """Refuse where datasets are there without the file that names their vault; a new one would not open them."""
        if self._datasets.is_dir() and any(self._datasets.iterdir()):
            hint = f"{self._header_path} is missing, and datasets are there; put back a copy of it."
            raise InputError("vault-damaged", hint)

    def _make_folders(self) -> None:
        for folder in (self.folder, self._datasets, self._shredded, self._writing):
            fs.private_folder(folder)

    # ---- writing -------------------------------------------------------------------------------------------

    @contextmanager
    def writer(self, name: str, replace: bool = True) -> Iterator[MappingWriter]:
        """Write mappings as a stream; they replace those of that name when the block ends without an error.

        After an error, and after a kill, what was there before is there still. Of two writers of one name the later
        to end stands, whole. Without `replace`, mappings of that name are refused, both when the block begins and
        when it ends; so of two writers the first to end stands.
        """
        owner = self._writable(name)
        if not replace:
            self._check_free(name)
        before = len(self._graves.of(name))
        with self._workspace() as folder, ExitStack() as stack:
            writer = MappingWriter(folder, owner)
            stack.callback(writer.close)
            yield writer
            count, segments = writer.count, writer.finish()
            with self._lock():
                if len(self._graves.of(name)) != before:
                    hint = f"Dataset {name!r} was shredded while it was written; nothing was stored."
                    raise InputError("shredded", hint)
                if not replace:
                    self._check_free(name)
                self._publish(owner, folder, segments, {"records": count})

    def add_values(self, name: str, pairs: Iterable[tuple[str, str]]) -> int:
        """Add known values, `(type, value)`, to those of that name; how many were not there yet."""
        owner = self._writable(name)
        given = list(distinct(pairs))
        for number, (kind, value) in enumerate(given):
            if not (kind and value and "\t" not in kind):
                raise InputError("known-value", f"Known value {number} has no type or is empty; leave it out.")
        with self._workspace() as folder, self._lock():
            old = list(self._stored_values(name)) if self._has(name) else []
            pairs = list(distinct([*old, *given]))
            if len(pairs) > len(old) or not self._has(name):
                segment = write_values(folder, owner, pairs)
                self._publish(owner, folder, {VALUES: segment}, {"values": len(pairs)})
            return len(pairs) - len(old)

    def _writable(self, name: str) -> Owner:
        """Check, before work begins, that the name is one and that the keys are there."""
        if not is_name(name):
            hint = "A dataset's name has 1 to 100 letters, digits or . _ @ + - and begins with a letter or digit."
            raise InputError("dataset-name", hint)
        header = self._header()
        owner = Owner(header.id, name)
        if self._has(name):
            self._read(name, lambda dataset: None)
        else:
            KeyFile.make(owner, keys.find(header.key, header.check), "new", None)
        return owner

    def _check_free(self, name: str) -> None:
        """Refuse a name that has mappings."""
        if self._has(name) and self._read(name, lambda dataset: RECORDS in dataset.segments):
            hint = f"The vault has mappings {name!r}, the only way back from what was masked with them; choose another "
            raise InputError("mappings-there", hint + "--vault NAME, or give them up with --replace.")

    @contextmanager
    def _workspace(self) -> Iterator[Path]:
        """A folder for what is not published yet; folders of the dead are removed on the way."""
        self._make_folders()
        folder = self._writing / secrets.token_hex(8)
        alive = FileLock(self._beside(folder), mode=0o600)
        with self._lock():
            self._sweep()
            alive.acquire()
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            discard(folder)
            self._beside(folder).unlink(missing_ok=True)
            alive.release()

    def _sweep(self) -> None:
        """Remove the folders of the dead. The caller holds the lock."""
        for stale in {path.with_suffix("") for path in self._writing.iterdir()}:
            with suppress(Timeout), FileLock(self._beside(stale), timeout=0, mode=0o600):
                discard(stale)
                self._beside(stale).unlink(missing_ok=True)

    @staticmethod
    def _beside(folder: Path) -> Path:
        return folder.with_suffix(".lock")

    def _publish(
        self,
        owner: Owner,
        workspace: Path,
        segments: dict[str, Segment],
        counts: dict[str, int],
        master: keys.MasterKey | None = None,
    ) -> None:
        """Make the segments the dataset's own, beside those that it keeps; with `master`, under a new data key.

        The caller holds the lock.
        """
        name, now = owner.dataset, _now()
        folder = self._datasets / name
        if not self._has(name):
            self._remove_remains(name)
            header = self._header()
            key, data_key = KeyFile.make(owner, keys.find(header.key, header.check), secrets.token_hex(8), None)
            clear = {"created": now, "records": 0, "values": 0}
            write(workspace / key_name(key), key.to_bytes())
            target = workspace
        else:
            present = self._dataset(name)
            key, data_key, clear, target = present.key_file, present.data_key, present.manifest.clear, folder
            for segment in segments.values():
                os.replace(workspace / segment.file, folder / segment.file)
            segments = present.segments | segments
            if master is not None:
                key, data_key = KeyFile.make(owner, master, secrets.token_hex(8), None)
                write(folder / key_name(key), key.to_bytes())
        clear = {**clear, "vault": owner.vault, "name": name, "key": key.clear["id"], "updated": now, **counts}
        fs.fsync(target)
        write(target / MANIFEST, Manifest.make(data_key, clear, segments).to_bytes())
        if target is workspace:
            os.replace(workspace, folder)
            fs.fsync(self._datasets)
        kept = {MANIFEST, key_name(key), *(segment.file for segment in segments.values())}
        for path in folder.iterdir():
            if path.name not in kept:
                path.unlink() if is_segment(path) else destroy(path)

    # ---- reading -------------------------------------------------------------------------------------------

    def copy(self, target: Path) -> None:
        """A copy of the folder as it is at one moment: as encrypted as it is here, and unreadable without its key."""
        self._header()

        def left_out(folder: str, _: list[str]) -> list[str]:
            return [self._writing.name, "lock"] if Path(folder) == self.folder else []

        with self._lock():
            shutil.copytree(self.folder, target, ignore=left_out)

    def names(self) -> list[str]:
        """Datasets that can be read, given the key."""
        self._header()
        found = sorted(path.name for path in self._datasets.iterdir()) if self._datasets.is_dir() else []
        return [name for name in found if self._has(name)]

    def mappings(self, name: str) -> Mappings:
        """The mappings of a dataset; closes with `close()` or as a context manager."""

        def read(dataset: Dataset) -> Mappings:
            if RECORDS not in dataset.segments:
                hint = f"Dataset {name!r} of the vault holds known values alone, no mappings."
                raise InputError("no-mappings", hint)
            return Mappings(dataset.reader(RECORDS), dataset.reader(INDEX), dataset.owner)

        return self._read(name, read)

    def values(self, name: str) -> Iterator[tuple[str, str]]:
        """Known values, each pair `(type, value)` once: those added, and all that stand in the mappings."""

        def read(dataset: Dataset) -> tuple[SegmentReader | None, Mappings | None]:
            stored = dataset.reader(VALUES) if VALUES in dataset.segments else None
            mapped = None
            if RECORDS in dataset.segments:
                mapped = Mappings(dataset.reader(RECORDS), dataset.reader(INDEX), dataset.owner)
            return stored, mapped

        return distinct(_all_values(*self._read(name, read)))

    def _stored_values(self, name: str) -> Iterator[tuple[str, str]]:
        dataset = self._dataset(name)
        return _all_values(dataset.reader(VALUES) if VALUES in dataset.segments else None, None)

    def _read(self, name: str, read: Callable[[Dataset], T]) -> T:
        """Open a dataset for a reader; again where that fails, for it may have been replaced in between."""
        for _ in range(_TRIES - 1):
            with suppress(InputError):
                return read(self._dataset(name))
        return read(self._dataset(name))

    def _dataset(self, name: str) -> Dataset:
        """Open a dataset's manifest; `InputError` in words where that is not possible."""
        self._check_known(name)
        owner, folder = Owner(self._header().id, name), self._datasets / name
        manifest, key_file = self._clear(owner)
        data_key = key_file.unwrap(owner)
        return Dataset(owner, folder, manifest, key_file, data_key, manifest.segments(data_key, owner))

    def _clear(self, owner: Owner) -> tuple[Manifest, KeyFile]:
        """A dataset's manifest and key file, as far as they are readable by anybody."""
        folder, missing = self._datasets / owner.dataset, "its manifest is missing"
        try:
            manifest = Manifest.load(folder / MANIFEST, owner)
            missing = "its key file is missing"
            return manifest, KeyFile.load(folder / f"key-{manifest.clear['key']}.json", owner)
        except FileNotFoundError:
            raise owner.damaged(missing) from None

    def _check_known(self, name: str) -> None:
        """Refuse an unknown dataset and a shredded one."""
        if name in (known := self.names()):
            return
        if is_name(name) and (graves := self._graves.of(name)):
            if has_key(self._datasets / name):
                hint = f"Shredding {name!r} has begun and its key is not destroyed yet; run: sm-ops vault shred {name}"
                raise InputError("not-shredded", hint)
            hint = f"Dataset {name!r} was shredded on {graves[-1]['when']}; nobody can read its mappings any more."
            raise InputError("shredded", hint)
        raise InputError("unknown-dataset", f"The vault has no dataset {name!r}; {did_you_mean(name, known)}.")

    def _header(self) -> Header:
        if not self.exists():
            self._check_not_lost()
            raise InputError("no-vault", f"There is no vault at {self.folder}; make one with: sm-ops vault init")
        return Header.load(self._header_path)

    def _has(self, name: str) -> bool:
        """Whether a dataset of that name is there, and is not one whose destruction was interrupted."""
        folder = self._datasets / name
        if not folder.is_dir() or not any(folder.iterdir()):
            return False
        destroyed = {grave["key"] for grave in self._graves.of(name)}
        return not destroyed or clear_of(folder).get("key") not in destroyed

    # ---- telling -------------------------------------------------------------------------------------------

    def status(self, verify: bool = False) -> dict[str, Any]:
        """What the vault holds, in names, counts and times, never values; works without the key as far as it goes.

        A dataset's `state` is `sealed` (the key is not there, so nothing was checked), `opened` (its manifest is
        authentic), `verified` (so is every byte of it; with `verify`) or `damaged`, and `detail` says it in words.
        What was destroyed is `shredded`, or `shredding` until its key and files are gone.
        """
        header = self._header()
        key_problem = None
        try:
            keys.find(header.key, header.check)
        except InputError as error:
            key_problem = error.hint
        datasets = [self._state(name, verify) for name in self.names()]
        return {
            "folder": str(self.folder),
            "format": FORMAT,
            "key": header.key,
            "key_problem": key_problem,
            "datasets": datasets,
            "shredded": [self._grave(name, grave) for name, grave in self._graves.all()],
        }

    def _state(self, name: str, verify: bool) -> dict[str, Any]:
        owner, folder = Owner(self._header().id, name), self._datasets / name
        row: dict[str, Any] = {"name": name, "records": None, "values": None, "created": None, "updated": None}
        row |= {"key": None, "bytes": size(folder)}
        try:
            manifest, key_file = self._clear(owner)
            row |= {field: manifest.clear[field] for field in ("records", "values", "created", "updated")}
            row["key"] = key_file.clear["source"]
            self._read(name, Dataset.check_files)
            if verify:
                self._verify(name)
        except InputError as error:
            return row | {"state": "sealed" if error.code in _KEY_CODES else "damaged", "detail": error.hint}
        return row | {"state": "verified" if verify else "opened", "detail": ""}

    def _grave(self, name: str, grave: Grave) -> dict[str, Any]:
        left = grave == self._graves.of(name)[-1] and not self._has(name) and self._remains(name)
        row = {"name": name, **{key: grave[key] for key in ("when", "records", "values")}}
        return row | {"state": "shredding" if left else "shredded", "detail": left or ""}

    def _remains(self, name: str) -> str:
        """What is left of a dataset that is being destroyed, and what to do; empty where nothing is."""
        folder = self._datasets / name
        again = f"run again: sm-ops vault shred {name}"
        if has_key(folder):
            return f"Its key in {folder} is not destroyed, so whoever has the master key can read it; {again}"
        if folder.is_dir() and any(folder.iterdir()):
            return f"Its key is overwritten, but files are left in {folder}; {again}"
        return ""

    def _verify(self, name: str) -> None:
        """Authenticate every frame, and compare counts, index and contents."""

        def read(dataset: Dataset) -> tuple[Dataset, dict[str, SegmentReader]]:
            return dataset, {role: dataset.reader(role) for role in dataset.segments}

        dataset, readers = self._read(name, read)
        records = values = 0
        try:
            if VALUES in readers:
                values = sum(1 for _ in read_values(readers[VALUES]))
            if RECORDS in readers:
                mappings = Mappings(readers[RECORDS], readers[INDEX], dataset.owner)
                mappings.verify()
                records = len(mappings)
        finally:
            for reader in readers.values():
                reader.close()
        if (records, values) != (dataset.manifest.clear["records"], dataset.manifest.clear["values"]):
            raise dataset.owner.damaged("its manifest and its contents differ")

    # ---- keys ----------------------------------------------------------------------------------------------

    def rotate(self, key_source: str | None = None, data_keys: bool = False) -> list[str]:
        """Wrap the data keys by a new master key, and with `data_keys` encrypt everything anew under new data keys.

        Half way each dataset is readable by the old master key or by the new one, and running it again goes on. A new
        key `env` is read from `SM_OPS_VAULT_NEW_KEY`. Returns the datasets that were changed.
        """
        header = self._header()
        if key_source is None and not data_keys:
            raise InputError("nothing-to-rotate", "Name a new master key with --key, or ask for --data-keys.")
        self._make_folders()
        with self._lock():
            self._sweep()
            if key_source is None:
                master = keys.find(header.key, header.check)
            else:
                master = self._chosen(key_source, keys.NEW_VARIABLE)
            for name in self.names():  # refuse before anything is changed
                self._dataset(name)
            Header(header.id, master.source, master.check).save(self._header_path)
            return [name for name in self.names() if self._rotated(name, master, data_keys)]

    def master_keys(self) -> set[str]:
        """What tells apart the master keys in use: one, or several while a rotation is half way."""
        header = self._header()
        wrapped = [self._clear(Owner(header.id, name))[1].clear for name in self.names()]
        return {header.check or header.key, *(clear["check"] or clear["source"] for clear in wrapped)}

    def _rotated(self, name: str, master: keys.MasterKey, data_keys: bool) -> bool:
        dataset = self._dataset(name)
        if data_keys:
            self._encrypt_anew(dataset, master)
            return True
        clear = dataset.key_file.clear
        if (clear["source"], clear["check"]) == (master.source, master.check):
            return False
        key, _ = KeyFile.make(dataset.owner, master, clear["id"], dataset.data_key)
        path = dataset.folder / key_name(key)
        with path.open("r+b", buffering=0) as old:  # keeps hold of the old bytes while the new ones take their name
            write(path, key.to_bytes())
            overwrite(old.fileno())
        return True

    def _encrypt_anew(self, dataset: Dataset, master: keys.MasterKey) -> None:
        folder = self._writing / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        try:
            segments = {}
            if RECORDS in dataset.segments:
                writer = MappingWriter(folder, dataset.owner)
                with Mappings(dataset.reader(RECORDS), dataset.reader(INDEX), dataset.owner) as mappings:
                    for record in mappings.entries():
                        writer.add(*record)
                segments |= writer.finish()
            if VALUES in dataset.segments:
                pairs = self._stored_values(dataset.owner.dataset)
                segments[VALUES] = write_values(folder, dataset.owner, pairs)
            self._publish(dataset.owner, folder, segments, {}, master)
        finally:
            discard(folder)

    def shred(self, name: str) -> dict[str, Any]:
        """Destroy a dataset's data key, so that nobody can read it again; needs no master key. What is gone, in counts.

        The dataset's name, the time and its counts stay as a tombstone. It is set first, so that what was begun is
        known and can be run again; `InputError` tells whether the key is gone when a file cannot be destroyed.
        """
        self._header()
        self._make_folders()
        with self._lock():
            self._sweep()
            folder = self._datasets / name
            if not is_name(name) or not folder.is_dir():
                self._check_known(name)
            if self._has(name):
                clear = clear_of(folder)
                grave = {"when": _now(), "key": clear.get("key"), "records": clear.get("records")}
                grave["values"] = clear.get("values")
                self._graves.add(name, grave)
            self._remove_remains(name)
            grave = self._graves.of(name)[-1]
            return {"name": name, "when": grave["when"], "records": grave["records"], "values": grave["values"]}

    def _remove_remains(self, name: str) -> None:
        """Destroy a dataset's keys, then remove the files; last its manifest, which says whose remains they are."""
        folder = self._datasets / name
        if not folder.is_dir():
            return
        manifest = folder / MANIFEST
        try:
            for path in key_files(folder):
                erase(path)
            for path in folder.iterdir():
                if path != manifest:
                    path.unlink()
            fs.fsync(folder)
            manifest.unlink(missing_ok=True)
            folder.rmdir()
            fs.fsync(folder.parent)
        except OSError as error:
            hint = f"Shredding {name!r} is not finished ({error.strerror}). {self._remains(name)}"
            raise InputError("not-shredded", hint) from None

    def _lock(self) -> FileLock:
        return FileLock(self.folder / "lock", mode=0o600)


def _all_values(stored: SegmentReader | None, mapped: Mappings | None) -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        if stored is not None:
            stack.callback(stored.close)
            yield from read_values(stored)
        if mapped is not None:
            stack.callback(mapped.close)
            yield from spellings(mapped)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
