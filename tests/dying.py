"""Work on files that is killed, or finds the disk full, before its first, second, ... operation on a file.

The work runs in a forked process. Counted are files opened for writing, flushes, renames, links, removals, folders
made and removed, and requests that go out by boto3 (before they are sent, and after the answer has come).
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sm_ops.core.errors import SmOpsError, sanitise

_EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
_REMOVING = {"os.remove", "os.rmdir"}
_WRITING = os.O_WRONLY | os.O_RDWR


@dataclass(frozen=True)
class Attempt:
    """How work went: killed, or with so many operations to its end, or to the error of that code and sentence."""

    killed: bool
    operations: int = 0
    exit_code: int = 0
    sentence: str = ""


def killed_at(work: Callable[[], object], number: int) -> Attempt:
    """The work, killed before its operation of that number (from 0); bytes that were not flushed are lost by half."""
    return _attempt(work, number, _kill)


def full_from(work: Callable[[], object], number: int) -> Attempt:
    """The work on a disk that is full from its operation of that number on; what is there can be removed."""
    return _attempt(work, number, _full)


def counted(work: Callable[[], object]) -> Attempt:
    """The work as it is."""
    return _attempt(work, sys.maxsize, _kill)


def deaths(work: Callable[[], object], every: int = 1) -> Iterator[Attempt]:
    """The work, killed at each operation (or each n-th), until it comes to its end; the caller puts back between."""
    for number in range(0, 10_000, every):
        attempt = killed_at(work, number)
        yield attempt
        if not attempt.killed:
            return


def _attempt(work: Callable[[], object], number: int, fault: Callable[[int | None], None]) -> Attempt:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _report(writing, work, _count(number, fault))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        told = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return Attempt(killed=True)
    return Attempt(killed=False, **json.loads(told))


def _report(writing: int, work: Callable[[], object], count: list[int]) -> None:
    code, sentence = 0, ""
    try:
        work()
    except Exception as error:
        failure: SmOpsError = sanitise(error)
        code, sentence = failure.exit_code, str(failure)
        if code == 1:
            traceback.print_exc()
    finally:
        operations, count[:] = count[0], [-sys.maxsize]
        os.write(writing, json.dumps({"operations": operations, "exit_code": code, "sentence": sentence}).encode())
        os._exit(0)


def _count(number: int, fault: Callable[[int | None], None]) -> list[int]:
    """Let the fault happen from the operation of that number on; the list's one entry counts."""
    count = [0]
    sys.dont_write_bytecode = True

    def step(descriptor: int | None = None, removing: bool = False) -> None:
        if count[0] >= number and not (removing and fault is _full):
            fault(descriptor)
        count[0] += 1

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and arguments[2] & _WRITING and not str(arguments[0]).endswith(".lock"):
            step()
        elif event in _EVENTS:
            step(removing=event in _REMOVING)

    flush = os.fsync

    def fsync(descriptor: int) -> None:
        step(descriptor)
        flush(descriptor)

    os.fsync = fsync
    sys.addaudithook(hook)
    _count_requests(step)
    return count


def _count_requests(step: Callable[[], None]) -> None:
    if "botocore.httpsession" not in sys.modules:
        return
    session = sys.modules["botocore.httpsession"].URLLib3Session
    send = session.send

    def counting(self: Any, request: Any) -> Any:
        step()
        answer = send(self, request)
        step()
        return answer

    session.send = counting


def _kill(descriptor: int | None) -> None:
    if descriptor is not None:  # what a file holds before it was flushed may be lost
        with suppress(OSError):
            os.truncate(descriptor, os.fstat(descriptor).st_size // 2)
    os.kill(os.getpid(), signal.SIGKILL)


def _full(descriptor: int | None) -> None:
    del descriptor
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
