"""Failures as sentences: every error that may cross a stage's edge is a code and a hint, nothing else.

An exception's own text can hold data (pydantic prints the input it refused, a KeyError its key), so
only `SmOpsError` is ever shown or stored; anything else becomes the name of its type and a place in our code.
"""

from __future__ import annotations

import traceback
from pathlib import Path

EXIT_BUG = 1
EXIT_INPUT = 2
EXIT_CHECK = 3
EXIT_INTERRUPTED = 130


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


class BugError(SmOpsError):
    """An exception that we did not foresee, reduced to its type and its place in our code: exit code 1."""


ERRORS: dict[str, type[SmOpsError]] = {cls.__name__: cls for cls in (InputError, StageError, BugError)}


def sanitise(error: BaseException) -> SmOpsError:
    """Reduce any exception to one without cause, context or values, safe to print and to store."""
    if isinstance(error, SmOpsError):
        return type(error)(error.code, error.hint)
    if isinstance(error, OSError) and error.errno is not None:
        return _from_os_error(error)
    place = next(
        (
            f"{Path(frame.filename).name}:{frame.lineno}"
            for frame in reversed(traceback.extract_tb(error.__traceback__))
            if "sm_ops" in Path(frame.filename).parts or "flows" in Path(frame.filename).parts
        ),
        "an unknown place",
    )
    return BugError("internal", f"Internal error: {type(error).__name__} at {place}; please report it.")


def _from_os_error(error: OSError) -> InputError:
    import errno
    import os

    where = f" at {error.filename}" if error.filename else ""
    advice = {
        errno.ENOSPC: "free some space and run the same command again",
        errno.EDQUOT: "free some quota and run the same command again",
        errno.EROFS: "choose a writable place with SM_OPS_HOME",
        errno.EACCES: "check the permissions or choose another place with SM_OPS_HOME",
        errno.EPERM: "check the permissions or choose another place with SM_OPS_HOME",
    }.get(error.errno or 0, "check the path and run the same command again")
    reason = os.strerror(error.errno) if error.errno else "I/O error"
    return InputError("os-error", f"{reason}{where}; {advice}.")
