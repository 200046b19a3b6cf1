"""What the tests of the vault put into it."""

from __future__ import annotations

import base64
import os

from sm_ops.vault import Vault

RECORDS = {
    f"doc-{number}": {"[PERSON_1]": f"김가상{number}", "[PHONE_1]": f"010-0000-{number:04d}"} for number in range(5)
}
VALUES = [("PERSON", "김견본"), ("EMAIL", "secret.person@example.com")]


def new_key() -> str:
    """A master key as the environment holds it."""
    return base64.b64encode(os.urandom(32)).decode()


def fill(vault: Vault, name: str = "notes", records: dict[str, dict[str, str]] | None = None) -> None:
    """Write mappings under a name."""
    with vault.writer(name) as writer:
        for record_id, mapping in (RECORDS if records is None else records).items():
            writer.add(record_id, mapping)
