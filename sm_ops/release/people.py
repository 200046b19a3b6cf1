"""Key files of people: the private key encrypted with a passphrase, the public key as a line that can be sent around.

The private file has OpenSSH's form, which makes a key of the passphrase by bcrypt in many rounds; `ssh-keygen -p`
changes it. An encrypted PKCS#8 file is read too. The public file is one line: `sm-ops-ed25519 PUBLIC NAME`.
"""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.release import keys
from sm_ops.release.approvers import NAME, PUBLIC, check_name

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner

_PUBLIC_FORM = "sm-ops-ed25519"
_ROUNDS = 100
"""Of bcrypt: half a second for each guess at a passphrase."""
_FORMS = ("OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
_UNENCRYPTED = b"openssh-key-v1\0\0\0\0\4none"


def new(name: str, path: Path, passphrase: bytes) -> Path:
    """Make a person's key: the private file (mode 0600), and the public one beside it, whose path is returned.

    Raises `InputError` for a bad name, an empty passphrase, or a file that is there already.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat

    public = check_new(name, path)
    if not passphrase:
        raise InputError("no-passphrase", "The passphrase is empty; a key file is never written without one.")
    private = Ed25519PrivateKey.generate()
    encryption = PrivateFormat.OpenSSH.encryption_builder().kdf_rounds(_ROUNDS).build(passphrase)
    fs.write_atomic(path, private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption), mode=0o600)
    raw = private.public_key().public_bytes_raw().hex()
    fs.write_atomic(public, f"{_PUBLIC_FORM} {raw} {name}\n".encode())
    return public


def check_new(name: str, path: Path) -> Path:
    """Where the public key will lie. Raises `InputError` for a bad name, or where something lies already."""
    public = path.with_suffix(".pub")
    check_name(name)
    if path == public:
        raise InputError("key-file", f"{path} is the name of a public file; let the private one end in .pem")
    for file in (path, public):
        if os.path.lexists(file):
            raise InputError("key-exists", f"{file} is there already and is not replaced; choose another place.")
    return public


def load_signer(path: Path, passphrase: bytes) -> CryptoSigner:
    """Who signs with a person's private key file.

    Raises `InputError` that says what is wrong with the file or the passphrase.
    """
    check_private(path)
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        return keys.signer_of(path.read_bytes(), passphrase)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        hint = f"The passphrase does not open {path}; type it again (or the file was damaged: take its copy)."
        raise InputError("wrong-passphrase", hint) from None


def check_private(path: Path) -> None:
    """Refuse, before a passphrase is asked for, what is no encrypted private key, or one that others can read."""
    text = fs.existing(path).read_bytes()[:100_000].decode("ascii", errors="replace").strip()
    if text.startswith((_PUBLIC_FORM, "-----BEGIN PUBLIC KEY")):
        raise InputError("public-key", f"{path} is a public key; to sign, give the private one beside it (.pem).")
    content = _content(text)
    if text.startswith("-----BEGIN PRIVATE KEY") or (content or b"").startswith(_UNENCRYPTED):
        hint = f"{path} is a private key without a passphrase; make one with: sm-ops release key new NAME"
        raise InputError("plain-key", hint)
    if content is None:
        hint = f"{path} is no encrypted private key, or is damaged; give the file that `release key new` made."
        raise InputError("bad-key", hint)
    if path.stat().st_mode & 0o077:
        raise InputError("open-key", f"Others can read {path}; close it with: chmod 600 {path}")


def read_public(path: Path) -> tuple[str, str]:
    """Name and public key (64 hexadecimal digits) of a public file. Raises `InputError` for another file."""
    text = fs.existing(path).read_bytes()[:1000].decode("ascii", errors="replace")
    if "PRIVATE KEY" in text:
        raise InputError("private-key", f"{path} is a private key, which nobody else may see; give the .pub beside it.")
    match text.split():
        case [form, public, name] if form == _PUBLIC_FORM and PUBLIC.fullmatch(public) and NAME.fullmatch(name):
            return name, public
    raise InputError("bad-key", f"{path} is no public key; its one line reads: {_PUBLIC_FORM} 64-DIGITS NAME")


def _content(text: str) -> bytes | None:
    """What a PEM block of an encrypted private key holds; None for any other text."""
    lines = text.splitlines()
    edges = (lines[0], lines[-1]) if lines else None
    if edges not in [(f"-----BEGIN {form}-----", f"-----END {form}-----") for form in _FORMS]:
        return None
    try:
        return base64.b64decode("".join(lines[1:-1]), validate=True)
    except binascii.Error:
        return None
