"""The vault: whether its key opens what lies in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.health.row import Row


def rows(home: Path) -> Iterator[Row]:
    """One row; nothing is decrypted beyond what proves the key."""
    from sm_ops.vault import Vault

    vault = Vault(home / "vault")
    if not vault.exists():
        lost = vault.folder.is_dir() and any(vault.folder.iterdir())
        told = f"{vault.folder} holds files, but its vault.json is gone; put it back from a backup"
        yield Row("vault key", not lost, told if lost else "no vault here; make one with: sm-ops vault init")
        return
    try:
        found = vault.status()
    except InputError as error:
        yield Row("vault key", False, error.hint)
        return
    bad = [row["name"] for row in found["datasets"] if row["state"] not in ("opened", "verified")]
    if found["key_problem"] or bad:
        told = found["key_problem"] or f"not readable: {', '.join(bad)}; see: sm-ops vault status"
        yield Row("vault key", False, told)
    else:
        yield Row("vault key", True, f"{found['key']} opens {len(found['datasets'])} datasets")
