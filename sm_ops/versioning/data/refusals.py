"""Look at a file before it is versioned: its digests, and that it holds no mapping."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from sm_ops.core.errors import InputError

_SEGMENT = b"SMVAULT"
_ROW = re.compile(rb'(?<!\\)"(?:format" ?: ?"(?:vault|pii-mapping)/|mapping" ?: ?\{)')
"""A document of the vault, a row of a mapping file, or any row with a mapping; inside a text, quotes are escaped."""
_KEY = re.compile(rb"[A-Za-z0-9+/]{43}=\s*")
"""A key file of the vault: 32 bytes in base64."""
_CHUNK, _OVERLAP = 1 << 20, 64


def examine(path: Path, name: str, home: Path) -> tuple[str, str]:
    """MD5 and SHA-256 of a file; `InputError` for a mapping, or a file of the vault, whatever its name."""
    if path.resolve().is_relative_to((home / "vault").resolve()):
        raise _refused(name)
    md5, sha256, before = hashlib.md5(usedforsecurity=False), hashlib.sha256(), b""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            md5.update(chunk)
            sha256.update(chunk)
            first = not before
            if (first and (chunk.startswith(_SEGMENT) or _KEY.fullmatch(chunk))) or _ROW.search(before + chunk):
                raise _refused(name)
            before = chunk[-_OVERLAP:]
    return md5.hexdigest(), sha256.hexdigest()


def _refused(name: str) -> InputError:
    hint = (
        f"{name} holds a mapping or a key, which is never versioned, because its history cannot be erased; mappings "
        "belong in the vault: sm-ops vault --help"
    )
    return InputError("mapping-refused", hint)
