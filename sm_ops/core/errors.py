"""Failures as sentences: every error that may cross a stage's edge is a code and a hint, nothing else.

An exception's own text can hold data (pydantic prints the input it refused, a KeyError its key), so
only `SmOpsError` is ever shown or stored; anything else becomes the name of its type and a place in our code.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator
from pathlib import Path

EXIT_BUG = 1
EXIT_INPUT = 2
EXIT_CHECK = 3
EXIT_NOT_APPROVED = 4
EXIT_TAMPERED = 5
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
"""Of a command whose output nobody reads any more, as the shell has it (128 and SIGPIPE): it may have ended early."""

_ADVICE = {
    errno.ENOSPC: "free some space and run the same command again",
    errno.EDQUOT: "free some quota and run the same command again",
    errno.EROFS: "make the disk writable, or choose another place with SM_OPS_HOME",
    errno.EACCES: "check the permissions or choose another place with SM_OPS_HOME",
    errno.EPIPE: "the process or server at its other end has gone; run the same command again",
    errno.EPERM: "check the permissions or choose another place with SM_OPS_HOME",
}


class SmOpsError(Exception):
    """A failure told in one sentence: `code` names its kind, `hint` says what, where and what to do."""

    exit_code = EXIT_BUG

    def __init__(self, code: str, hint: str) -> None:
        super().__init__(code, hint)
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.hint} [{self.code}]"


class InputError(SmOpsError):
    """Bad input, usage or environment (disk, permission, server): exit code 2."""

    exit_code = EXIT_INPUT


class StageError(SmOpsError):
    """A stage's check failed, so the pipeline stops there: exit code 3."""

    exit_code = EXIT_CHECK


class ApprovalError(SmOpsError):
    """A release lacks approvals, or they or the release have expired: exit code 4."""

    exit_code = EXIT_NOT_APPROVED


class IntegrityError(SmOpsError):
    """A release was revoked, or a file of it is not what was signed: exit code 5."""

    exit_code = EXIT_TAMPERED


class BugError(SmOpsError):
    """An exception that we did not foresee, reduced to its type and its place in our code: exit code 1."""


ERRORS: dict[str, type[SmOpsError]] = {
    cls.__name__: cls for cls in (InputError, StageError, ApprovalError, IntegrityError, BugError)
}


def sanitise(error: BaseException) -> SmOpsError:
    """Reduce any exception to one without cause, context or values, safe to print and to store."""
    if isinstance(error, SmOpsError):
        kind = next(cls for cls in type(error).__mro__ if cls in ERRORS.values())
        return kind(error.code, error.hint)
    if isinstance(error, OSError) and error.errno is not None:
        return _from_os_error(error)
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":  # torch's own
        return InputError("out-of-memory", "There is too little memory for this step; make batches or models smaller.")
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.errno in _ADVICE:  # a library wrapped a full or read-only disk
            return _from_os_error(cause)
    name, place = type(error).__name__, _place(error)
    return BugError("internal", f"Internal error: {name} at {place}; please report it.")


def full_disk(folder: Path) -> InputError:
    """What libraries call by many names: there was no room left below a folder."""
    return _from_os_error(OSError(errno.ENOSPC, "", str(folder)))


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen = {id(error)}
    while (inner := error.__cause__ or error.__context__) and id(inner) not in seen:
        seen.add(id(inner))
        yield inner
        error = inner


def _place(error: BaseException) -> str:
    """The innermost line of our own code that the exception came through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if {"sm_ops", "flows"} & set(Path(frame.filename).parts[:-1]):
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return "an unknown place"


def _from_os_error(error: OSError) -> InputError:
    number = error.errno or 0
    advice = _ADVICE.get(number, "check the path and run the same command again")
    return InputError("os-error", f"{os.strerror(number)}{_where(error)}; {advice}.")


def _where(error: OSError) -> str:
    """The path if it exists, or the folder below which it would be: a name that was never on disk may be data."""
    if not isinstance(error.filename, str):
        return ""
    path = Path(error.filename).absolute()
    if os.path.lexists(path):
        return f" at {path}"
    existing = next((parent for parent in path.parents if _exists(parent)), None)
    return f" below {existing}" if existing else ""


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long to ask for
        return False
