"""Runs a task's tests while the answer runs in a process below, and learns only what its functions return.

A program of its own in the sandbox, beside `tests.py`, `solution.py`, the task's files and `witness.py`. It passes as
tests do, by ending with 0. What it expects is nowhere that the answer could look: its memory is closed to others of its
user, the tests are off the disk before the answer starts, and from then on nothing is imported from that folder. What
comes back is read as Python's plain values, whose comparison nobody can redefine.
"""

from __future__ import annotations

import builtins
import ctypes
import os
import pickle
import runpy
import signal
import subprocess
import sys
from functools import cache, partial
from types import ModuleType
from typing import Any, NoReturn

FOLDER = os.getcwd()
TESTS = os.path.join(FOLDER, "tests.py")
_DUMPABLE = 4


def main() -> None:
    """Run the tests; their `solution` stands for the answer's."""
    ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)
    solution = ModuleType("solution")
    solution.__getattr__ = _function
    sys.modules["solution"] = solution
    sys.path.append(FOLDER)
    runpy.run_path(TESTS, run_name="__main__")


def _function(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return partial(_ask, name)


class _Plain(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        raise pickle.UnpicklingError


def _ask(name: str, *args: Any, **named: Any) -> Any:
    """What the answer's function returns, or its exception; a process that says neither has failed, whatever it did."""
    witness = _witness()
    request = pickle.dumps((name, args, named))
    try:
        witness.stdin.write(request)
        witness.stdin.flush()
        returned, said = _Plain(witness.stdout).load()
    except Exception:
        _fail(witness)
    if returned:
        return said
    kind = getattr(builtins, str(said), None)
    raise kind() if isinstance(kind, type) and issubclass(kind, Exception) else RuntimeError


@cache
def _witness() -> Any:
    """The answer's process, started at the first call: what tests import before is the task's."""
    os.unlink(TESTS)
    sys.path.remove(FOLDER)
    command = [sys.executable, os.path.join(FOLDER, "witness.py")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _fail(witness: Any) -> NoReturn:
    """End as the answer did, past all that tests may catch."""
    os.close(witness.stdin.fileno())
    status = witness.wait()
    if status < 0:
        signal.raise_signal(-status)
    os._exit(1)


if __name__ == "__main__":
    main()
