"""Secrets of the stack: made once, each in a file that its owner alone reads.

Take a file away while the stack is stopped, and the next start makes another secret and gives it to the service.
"""

from __future__ import annotations

import secrets

from sm_ops.core import fs
from sm_ops.core.sensitive import Sensitive
from sm_ops.stack.plan import Folders

BYTES = 24


def secret(folders: Folders, name: str) -> Sensitive[str]:
    """The secret of this name, of hexadecimal digits (URLs and INI files take them as they are); made when missing."""
    path = folders.secrets / name
    try:
        return Sensitive(path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        fs.write_atomic(path, secrets.token_hex(BYTES).encode(), mode=0o600)
        return Sensitive(path.read_text(encoding="ascii"))
