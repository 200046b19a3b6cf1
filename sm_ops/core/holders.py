"""Who holds a file's lock, as Linux lists it: nothing is locked to ask. Elsewhere nobody is known."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_LOCKS = Path("/proc/locks")


def holders() -> dict[tuple[int, int, int], int]:
    """Process ids by the locked file (`identity`), of locks that exclude all others."""
    with suppress(OSError):
        found = re.findall(r"^\d+: FLOCK +\S+ +WRITE (\d+) (\w+):(\w+):(\d+) ", _LOCKS.read_text(), re.MULTILINE)
        return {(int(major, 16), int(minor, 16), int(inode)): int(pid) for pid, major, minor, inode in found}
    return {}


def identity(status: os.stat_result) -> tuple[int, int, int]:
    """What tells a file from all others: major and minor number of its device, and inode."""
    return os.major(status.st_dev), os.minor(status.st_dev), status.st_ino
