"""Backups: the databases of the stack, MLflow's artifacts where they are files, and the vault, still encrypted.

A backup is a folder that is whole or absent; `backup.json` lists the digest of every file. No password of the stack is
in it and no key of the vault: the stack gives its databases new passwords at its next start, the key is kept elsewhere.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError, StageError
from sm_ops.stack import databases, lock, postgres, state
from sm_ops.stack.plan import Folders, Plan, make_folders
from sm_ops.stack.services import artifacts_folder
from sm_ops.vault import Vault

FORMAT = "stack-backup/1"
MANIFEST = "backup.json"
_DATABASES, _ARTIFACTS, _VAULT = "databases", "mlartifacts", "vault"


def backup(home: Path, target: Path) -> dict[str, Any]:
    """Make a backup of the home's stack and vault in a new folder, whether the stack runs or not; its manifest."""
    if os.path.lexists(target):
        raise InputError("backup-there", f"{target} is there already; choose another place.")
    if target.absolute().is_relative_to(Folders(home).stack):
        raise InputError("backup-inside", f"{target} lies in what is to be saved; choose a place outside.")
    vault = Vault(home / "vault")
    has_stack = Folders(home).settings.is_file()
    if not has_stack and not vault.exists():
        raise InputError("nothing-there", f"{home} has neither a stack nor a vault; set SM_OPS_HOME to the one meant.")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    manifest: dict[str, Any] = {"format": FORMAT, "made": datetime.now(UTC).isoformat(timespec="seconds")}
    manifest |= {"versions": {name: version(name) for name in ("prefect", "mlflow")}, "stack": None}
    try:
        fs.private_folder(unfinished)
        if has_stack:
            manifest["stack"] = _save_stack(home, unfinished)
        if vault.exists():
            vault.copy(unfinished / _VAULT)
        manifest["files"] = _digests(unfinished)
        fs.write_json(unfinished / MANIFEST, manifest)
        os.rename(unfinished, target)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    fs.fsync(target.parent)
    return manifest


def restore(source: Path, home: Path) -> dict[str, Any]:
    """Bring a backup back into a home that has neither data of a stack nor a vault; its manifest.

    Raises `StageError` where a file is not what was saved, before anything is touched.
    """
    manifest = _verified(source)
    folders = Folders(home)
    folders.stack.mkdir(mode=0o700, parents=True, exist_ok=True)  # that of a running stack stays as it is
    held = lock.take(folders)
    try:
        places = {"stack/data": folders.data} if manifest["stack"] else {}
        places |= {_VAULT: home / "vault"} if (source / _VAULT).is_dir() else {}
        for place in places.values():
            if place.is_dir() and any(place.iterdir()):
                hint = f"{place} is there, and nothing is restored over it; move it away, or set another SM_OPS_HOME."
                raise InputError("restore-over", hint)
        made = _made_apart(source, home, manifest)
        for name, place in places.items():
            shutil.rmtree(place, ignore_errors=True)
            os.rename(made / name, place)
        if manifest["stack"]:
            Plan.make(home, pools=(), **manifest["stack"]).save()
        fs.fsync(home)
        shutil.rmtree(made)
    finally:
        os.close(held)
    return manifest


def _save_stack(home: Path, target: Path) -> dict[str, bool]:
    """Databases and artifacts of the stack, which is running or is not started meanwhile; what it consists of."""
    plan = Plan.load(home)
    running = state.running(home)
    held = None if running else lock.take(plan.folders)
    try:
        fs.private_folder(target / _DATABASES)
        databases.save(plan, target / _DATABASES, running=running)
        if artifacts_folder(plan).is_dir():
            shutil.copytree(artifacts_folder(plan), target / _ARTIFACTS)
    finally:
        if held is not None:
            os.close(held)
    return {"postgres": plan.postgres, "s3": plan.s3}


def _made_apart(source: Path, home: Path, manifest: dict[str, Any]) -> Path:
    """A home beside what is there, with everything of the backup in it."""
    made = home / "restoring"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    try:
        if manifest["stack"]:
            plan = Plan.make(made, manifest["stack"]["postgres"], s3=False, pools=())
            if plan.postgres:
                postgres.check(plan)
            make_folders(plan.folders, shared=plan.postgres and postgres.user() is not None)
            databases.load(plan, source / _DATABASES)
            if (source / _ARTIFACTS).is_dir():
                shutil.copytree(source / _ARTIFACTS, artifacts_folder(plan))
        if (source / _VAULT).is_dir():
            shutil.copytree(source / _VAULT, made / _VAULT)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return made


def _verified(source: Path) -> dict[str, Any]:
    """The manifest of a backup whose files are all what was saved."""
    try:
        manifest = fs.read_json(source / MANIFEST)
        known = manifest["format"] == FORMAT
        listed = manifest["files"] if known else {}
    except OSError:
        raise InputError("no-backup", f"There is no backup at {source}; {source / MANIFEST} cannot be read.") from None
    except (ValueError, TypeError, KeyError):
        raise StageError("backup-damaged", f"{source / MANIFEST} is damaged; take another backup.") from None
    if not known:
        raise InputError("backup-format", f"{source} has another format than {FORMAT}; use the version that wrote it.")
    found = _digests(source)
    if wrong := sorted(name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name)):
        hint = f"{len(wrong)} files of {source} are not what was saved, the first is {wrong[0]}; take another backup."
        raise StageError("backup-damaged", hint)
    return manifest


def _digests(folder: Path) -> dict[str, str]:
    return {name: fs.file_hash(path) for name, path in fs.files_below(folder) if name != MANIFEST}
