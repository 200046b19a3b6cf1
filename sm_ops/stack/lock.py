"""One stack a home: an operating-system lock that the supervisor holds for its life, and its process id in the file."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

from sm_ops.core.errors import InputError
from sm_ops.stack.plan import Folders

_NAME = "lock"
_PATIENCE = 1.0
"""Seconds; who asks whether the stack runs holds the lock for a moment too."""


def take(folders: Folders) -> int:
    """Take the lock, or refuse and name who has it. The descriptor holds it, in whichever process it is open."""
    descriptor = os.open(folders.stack / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() < end:
                time.sleep(0.05)
                continue
            os.close(descriptor)
            hint = (
                f"A stack of {folders.home} is running already (process {_written(folders)}); look at it with: "
                "sm-ops serve status, end it with: sm-ops serve stop"
            )
            raise InputError("stack-running", hint) from None
        write(descriptor, os.getpid())
        return descriptor


def write(descriptor: int, pid: int) -> None:
    """Say who holds it."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{pid}\n".encode(), 0)


def holder(folders: Folders) -> int | None:
    """Process id of the supervisor of a stack that runs, else `None`."""
    try:
        descriptor = os.open(folders.stack / _NAME, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _written(folders)
    finally:
        os.close(descriptor)
    return None


def _written(folders: Folders) -> int:
    with suppress(OSError, ValueError):
        return int((folders.stack / _NAME).read_text())
    return 0
