"""Master keys, and how they wrap data keys: from the environment, a file of one's own, or AWS KMS.

A source is written `env`, `file:PATH` or `kms:KEY_ID`. A local key is recognised by its check, a value that tells
nothing of the key; so whichever of the environment and the recorded file holds the right key is taken, and a wrong key
is told from damage.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.storage.kms import Kms
from sm_ops.vault.segment import KEY_BYTES

VARIABLE = "SM_OPS_VAULT_KEY"
NEW_VARIABLE = "SM_OPS_VAULT_NEW_KEY"
NONCE_BYTES = 12
"""Of AES-GCM, wherever the vault uses it."""

Clear = dict[str, str]


class MasterKey(Protocol):
    """A key that wraps data keys. `check` recognises a local one and is empty for KMS, which recognises its own."""

    source: str
    check: str

    def generate(self, clear: Clear) -> tuple[bytes, bytes]:
        """A new data key, plain and wrapped, bound to what stands beside it."""
        ...

    def wrap(self, data_key: bytes, clear: Clear) -> bytes:
        """Wrap a data key, bound to what stands beside it."""
        ...

    def unwrap(self, wrapped: bytes, clear: Clear) -> bytes:
        """The data key; raises `cryptography.exceptions.InvalidTag` or `InputError` where anything was changed."""
        ...


class LocalKey:
    """32 bytes that we hold ourselves: AES-256-GCM under a key derived from them."""

    def __init__(self, source: str, key: bytes) -> None:
        self.source = source
        self.check = hmac.digest(key, b"sm-ops vault: check", "sha256")[:16].hex()
        self._cipher = AESGCM(hmac.digest(key, b"sm-ops vault: wrap", "sha256"))

    def generate(self, clear: Clear) -> tuple[bytes, bytes]:
        """A new data key, plain and wrapped."""
        data_key = os.urandom(KEY_BYTES)
        return data_key, self.wrap(data_key, clear)

    def wrap(self, data_key: bytes, clear: Clear) -> bytes:
        """Nonce and ciphertext."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, data_key, fs.canonical_json(clear))

    def unwrap(self, wrapped: bytes, clear: Clear) -> bytes:
        """The data key, or `InvalidTag`."""
        if len(wrapped) != NONCE_BYTES + KEY_BYTES + 16:
            raise InvalidTag
        return self._cipher.decrypt(wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:], fs.canonical_json(clear))


class KmsKey:
    """A key that never leaves AWS KMS; the encryption context names vault, dataset and data key."""

    check = ""

    def __init__(self, source: str) -> None:
        self.source = source
        self._kms = Kms(source.removeprefix("kms:"))

    def generate(self, clear: Clear) -> tuple[bytes, bytes]:
        """A new data key, plain and wrapped."""
        return self._kms.generate(_context(clear))

    def wrap(self, data_key: bytes, clear: Clear) -> bytes:
        """KMS's ciphertext."""
        return self._kms.encrypt(data_key, _context(clear))

    def unwrap(self, wrapped: bytes, clear: Clear) -> bytes:
        """The data key, or KMS's refusal in words."""
        return self._kms.decrypt(wrapped, _context(clear))


def _context(clear: Clear) -> Clear:
    return {"application": "sm-ops vault", "vault": clear["vault"], "dataset": clear["name"], "key": clear["id"]}


def chosen(source: str, variable: str = VARIABLE) -> MasterKey:
    """The key that a user names for a vault to come; a key file that is not there is made (mode 0600).

    `variable` is where `env` looks. Raises `InputError` for an unknown source, and for a key that is not there, not
    valid or not private; a KMS key is asked once, so that a wrong id is noticed now.
    """
    kind, _, place = source.partition(":")
    if kind == "env" and not place:
        text = os.environ.get(variable)
        if not text:
            raise InputError("no-key", f"The variable {variable} holds no key; {_making(variable)}")
        return _from_variable(variable, text)
    if kind == "file" and place:
        path = Path(place).expanduser().absolute()
        if not path.exists():
            fs.write_atomic(path, base64.b64encode(os.urandom(KEY_BYTES)) + b"\n", mode=0o600)
        return _from_file(path)
    if kind == "kms" and place:
        key = KmsKey(source)
        key.generate({"vault": "-", "name": "-", "id": "-"})
        return key
    raise InputError("key-source", "A key source is env, file:PATH or kms:KEY_ID; name one of these with --key.")


def find(source: str, check: str) -> MasterKey:
    """The key that a vault or a dataset was wrapped with; `InputError` where it is missing or another one."""
    if source.startswith("kms:"):
        return KmsKey(source)
    wrong, unusable = False, None
    for read in _local(source):
        try:
            key = read()
        except InputError as error:
            unusable = unusable or error
            continue
        if hmac.compare_digest(key.check, check):
            return key
        wrong = True
    if unusable is not None:
        raise unusable
    file = f"{source.removeprefix('file:')} or " if source.startswith("file:") else ""
    place = f"{file}the variable {VARIABLE}"
    if wrong:
        raise InputError("wrong-key", f"The key in {place} is not the one that the vault was written with.")
    raise InputError("no-key", f"The vault's key is not there; put it into {place}.")


def _local(source: str) -> Iterator[Callable[[], LocalKey]]:
    """The places that may hold the key, each read when it is called, so that an unusable one bars no other."""
    for variable in (VARIABLE, NEW_VARIABLE):
        if text := os.environ.get(variable):
            yield partial(_from_variable, variable, text)
    path = Path(source.removeprefix("file:"))
    if source.startswith("file:") and path.exists():
        yield partial(_from_file, path)


def _from_variable(variable: str, text: str) -> LocalKey:
    return LocalKey("env", _decoded(text, f"The variable {variable}", _making(variable)))


def _making(variable: str) -> str:
    return f'make one with: export {variable}="$(head -c {KEY_BYTES} /dev/urandom | base64)"'


def _from_file(path: Path) -> LocalKey:
    if not path.is_file():
        raise InputError("key-file", f"{path} is no file; name a key file.")
    mode = path.stat().st_mode
    if mode & 0o077:
        hint = f"The key file {path} may be read by others (mode {mode & 0o777:04o}); run: chmod 600 {path}"
        raise InputError("key-permissions", hint)
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise InputError("key-file", f"The key file {path} cannot be read ({error.strerror}).") from None
    advice = "put back a sound copy of it; for a new key, name a file that is not there"
    return LocalKey(f"file:{path}", _decoded(text, f"The key file {path}", advice))


def _decoded(text: str, what: str, advice: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError("bad-key", f"{what} does not hold base64 of {KEY_BYTES} bytes; {advice}")
    return key
