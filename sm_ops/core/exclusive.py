"""One run at a time on a GPU: an operating-system lock on the device's own file, freed when its holder dies.

The file is the same one for every user, home folder and Prefect server of a machine. A container with device files of
its own does not see the others' locks.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sm_ops.core.fingerprint import device_class
from sm_ops.core.holders import holders, identity

_DEVICES = Path("/dev")


def gpus() -> list[Path]:
    """Device files of the GPUs that this process may use, in the order in which they are locked; none on a CPU.

    `CUDA_VISIBLE_DEVICES` selects by number; where it names devices in another way, all are taken.
    """
    if device_class() != "cuda":
        return []
    found = sorted(_DEVICES.glob("nvidia[0-9]*"), key=lambda path: int(path.name.removeprefix("nvidia")))
    numbers = os.environ.get("CUDA_VISIBLE_DEVICES", "all").split(",")
    if not all(number.strip().isdecimal() and int(number) < len(found) for number in numbers):
        return found
    return [found[index] for index in sorted({int(number) for number in numbers})]


@contextmanager
def held(files: Sequence[Path], waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the locks of all files; `waiting` hears, once for each that another process holds, whom we wait for."""
    with ExitStack() as stack:
        for file in files:
            descriptor = os.open(file, os.O_RDONLY)  # which no process that we start inherits
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting(f"waiting for {_holder(descriptor)}, which runs on {file.name}")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _holder(descriptor: int) -> str:
    pid = holders().get(identity(os.fstat(descriptor)))
    return f"process {pid}" if pid else "another process"
