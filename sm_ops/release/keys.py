"""Ed25519 keys: encrypted files of people, and the builder's own, made on first use.

A private key is a PEM file, a person's encrypted with a passphrase, the builder's (PKCS#8) with file mode 0600 alone.
A public key is its 32 raw bytes as 64 hexadecimal digits; a key's id is the SHA-256 of these bytes, so that equal keys
have equal ids whatever else stands beside them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.release.folder import all_releases, locked_file

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner, SSlibKey

BUILDER = "builder"
LOST = "builder-lost"
_OPENSSH = b"-----BEGIN OPENSSH PRIVATE KEY-----"


def key_id(public: str) -> str:
    """The id of a public key (64 hexadecimal digits): SHA-256 of its raw bytes, in hexadecimal digits."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()


def public_key(public: str) -> SSlibKey:
    """A public key as securesystemslib knows it."""
    from sm_ops.release.sslib import SSlibKey

    return SSlibKey(key_id(public), "ed25519", "ed25519", {"public": public})


def signer_of(pem: bytes, passphrase: bytes | None = None) -> CryptoSigner:
    """Who signs with a private key. Raises ValueError or TypeError where the file or the passphrase is another."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    from sm_ops.release.sslib import CryptoSigner

    load = load_ssh_private_key if pem.lstrip().startswith(_OPENSSH) else load_pem_private_key
    private = load(pem, passphrase)
    if not isinstance(private, Ed25519PrivateKey):
        raise ValueError("not Ed25519")
    return CryptoSigner(private, public_key(private.public_key().public_bytes_raw().hex()))


def builder(home: Path) -> CryptoSigner:
    """The builder's key of a home, made on first use: HOME/keys/builder.pem, readable by its owner alone.

    Raises `InputError` (`LOST`) where it is missing and releases are there, which were signed with it.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path = _builder_file(home)
    with locked_file(home / "locks" / "release-keys.lock", "the builder's key"):
        if is_lost(home):
            raise InputError(LOST, lost(home))
        if not path.is_file():
            fs.private_folder(path.parent)
            private = Ed25519PrivateKey.generate()
            pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            fs.write_atomic(path, pem, mode=0o600)
    return signer_of(path.read_bytes())


def known_builder(home: Path) -> str | None:
    """The builder's public key (64 hexadecimal digits); None where there is none yet, or its owner alone may see it."""
    try:
        return public_of(signer_of(_builder_file(home).read_bytes()))
    except (FileNotFoundError, PermissionError):
        return None


def is_lost(home: Path) -> bool:
    """Whether the builder's key is missing although there are releases, which were signed with it."""
    try:
        return not _builder_file(home).is_file() and bool(all_releases(home))
    except PermissionError:  # its owner alone may see it
        return False


def lost(home: Path) -> str:
    """What to say where the builder's key is missing."""
    return (
        f"The builder's key is missing, with which the releases of this home were signed: bring {_builder_file(home)} "
        "back from a backup. Without it they can be verified and revoked, and nothing else."
    )


def _builder_file(home: Path) -> Path:
    return home / "keys" / f"{BUILDER}.pem"


def public_of(signer: CryptoSigner) -> str:
    """The public key of a signer, as 64 hexadecimal digits."""
    return signer.public_key.keyval["public"]
