"""Small documents of the vault: JSON whose clear part anybody may read and nobody may change unnoticed.

`vault.json` names the vault and its key source. In a dataset's folder, `key-ID.json` holds its wrapped data key, and
`manifest.json` says under which data key it is written, how much it holds (clear), and which segments it has, with
their keys (sealed). A document counts only in its one byte form, so a changed byte is a changed field.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.vault.keys import NONCE_BYTES, MasterKey, find
from sm_ops.vault.segment import Owner, Segment

FORMAT = "vault/2"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Header:
    """`vault.json`: the vault's id, and the master key under which new datasets are written."""

    id: str
    key: str
    check: str

    def save(self, path: Path) -> None:
        """Write it, atomically, with a sum that finds damage."""
        value = asdict(self)
        fs.write_atomic(path, fs.canonical_json({"format": FORMAT, **value, "sum": _sum(value)}), mode=0o600)

    @classmethod
    def load(cls, path: Path) -> Header:
        """Read it; `InputError` for a damaged one or another format version."""
        hint = f"{path} is damaged; put back a sound copy of it."
        value = _parsed(path.read_bytes(), f"The vault {path.parent}", lambda: InputError("vault-damaged", hint))
        if value.keys() != {"id", "key", "check", "sum"} or value.pop("sum") != _sum(value):
            raise InputError("vault-damaged", hint)
        return cls(**value)


@dataclass(frozen=True)
class KeyFile:
    """`key-ID.json`: a data key wrapped by a master key."""

    clear: dict[str, str]
    wrapped: bytes = field(repr=False)

    @classmethod
    def make(cls, owner: Owner, master: MasterKey, key_id: str, data_key: bytes | None) -> tuple[KeyFile, bytes]:
        """Wrap a data key, or a new one; the file and the plain data key."""
        clear = {"vault": owner.vault, "name": owner.dataset, "id": key_id}
        clear |= {"source": master.source, "check": master.check}
        if data_key is None:
            data_key, wrapped = master.generate(clear)
        else:
            wrapped = master.wrap(data_key, clear)
        return cls(clear, wrapped), data_key

    @classmethod
    def load(cls, path: Path, owner: Owner) -> KeyFile:
        """Read it; `FileNotFoundError` where it is absent."""
        clear, wrapped = _unpacked(path.read_bytes(), owner, "its key file")
        _check_owner(clear, {"source", "check", "id"}, owner, "its key file")
        return cls(clear, wrapped)

    def unwrap(self, owner: Owner) -> bytes:
        """The data key; `InputError` for a missing or wrong master key, and for damage."""
        master = find(self.clear["source"], self.clear["check"])
        try:
            return master.unwrap(self.wrapped, self.clear)
        except InvalidTag:
            raise owner.damaged("its key file is not what was written") from None

    def to_bytes(self) -> bytes:
        """The file's content."""
        return _packed(self.clear, self.wrapped)


@dataclass(frozen=True)
class Manifest:
    """`manifest.json`: clear facts of a dataset, and its segments once they are opened with the data key."""

    clear: dict[str, Any]
    sealed: bytes = field(repr=False)

    @classmethod
    def make(cls, data_key: bytes, clear: dict[str, Any], segments: dict[str, Segment]) -> Manifest:
        """Seal the segments under the data key, bound to the clear part."""
        content = {role: {"id": s.id, "size": s.size, "key": s.key.hex()} for role, s in segments.items()}
        nonce = os.urandom(NONCE_BYTES)
        sealed = nonce + AESGCM(data_key).encrypt(nonce, fs.canonical_json(content), fs.canonical_json(clear))
        return cls(clear, sealed)

    @classmethod
    def load(cls, path: Path, owner: Owner) -> Manifest:
        """Read it, without looking into what is sealed; `FileNotFoundError` where it is absent."""
        clear, sealed = _unpacked(path.read_bytes(), owner, "its manifest")
        _check_owner(clear, {"key", "created", "updated", "records", "values"}, owner, "its manifest")
        return cls(clear, sealed)

    def segments(self, data_key: bytes, owner: Owner) -> dict[str, Segment]:
        """The dataset's segments by role, which only the data key of this manifest opens."""
        nonce, rest = self.sealed[:NONCE_BYTES], self.sealed[NONCE_BYTES:]
        try:
            content = json.loads(AESGCM(data_key).decrypt(nonce, rest, fs.canonical_json(self.clear)))
        except (InvalidTag, ValueError):
            raise owner.damaged("its manifest is not what was written") from None
        return {role: Segment(s["id"], s["size"], bytes.fromhex(s["key"])) for role, s in content.items()}

    def to_bytes(self) -> bytes:
        """The file's content."""
        return _packed(self.clear, self.sealed)


def _check_owner(clear: dict[str, Any], fields: set[str], owner: Owner, what: str) -> None:
    if fields - clear.keys() or (clear.get("vault"), clear.get("name")) != (owner.vault, owner.dataset):
        raise owner.damaged(f"{what} is not what was written, or belongs to another vault or dataset")


def _sum(value: dict[str, Any]) -> str:
    return fs.sha256(fs.canonical_json(value))


def _packed(clear: dict[str, Any], sealed: bytes) -> bytes:
    return fs.canonical_json({"format": FORMAT, **clear, "sealed": sealed.hex()})


def _unpacked(data: bytes, owner: Owner, what: str) -> tuple[dict[str, Any], bytes]:
    def damaged() -> InputError:
        return owner.damaged(f"{what} is not what was written")

    clear = _parsed(data, f"Dataset {owner.dataset!r} of the vault", damaged)
    try:
        text = clear.pop("sealed")
        sealed = bytes.fromhex(text)
    except (KeyError, TypeError, ValueError):
        raise damaged() from None
    if sealed.hex() != text:
        raise damaged()
    return clear, sealed


def _parsed(data: bytes, what: str, damaged: Callable[[], InputError]) -> dict[str, Any]:
    try:
        value = json.loads(data)
        found = value.pop("format")
        canonical = fs.canonical_json({"format": found, **value}) == data
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise damaged() from None
    if found != FORMAT:
        shown = found if isinstance(found, str) and found.isprintable() else "of another kind"
        hint = f"{what} has format {shown[:40]!r}, this version reads {FORMAT!r}; use the version that wrote it."
        raise InputError("vault-format", hint)
    if not canonical:
        raise damaged()
    return value
