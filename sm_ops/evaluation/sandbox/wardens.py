"""Starts a warden in a room of its own and brings back its answer."""

from __future__ import annotations

import itertools
import marshal
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from math import ceil
from pathlib import Path, PurePath
from types import CodeType
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.evaluation.sandbox import seccomp, warden
from sm_ops.evaluation.sandbox.limits import Limits, Program
from sm_ops.evaluation.sandbox.warden import HOME

KINDS = ("bubblewrap", "namespace")
GRACE = 30.0
"""Seconds beyond the program's own that a warden may need on a busy machine."""

_RUN = "import marshal, sys; exec(marshal.load(sys.stdin.buffer))"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_STRANGERS = 2_000_000_000
_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # workarounds for processors on which NumPy crashes

Started = Callable[["subprocess.Popen[bytes]"], None]
_Place = tuple[str, str, str]  # kind, source, target
_count = itertools.count()


def ask(kind: str, program: Program, limits: Limits, started: Started = lambda process: None) -> dict[str, Any] | None:
    """What the warden says of one program; `None` if it was ended before it could say anything.

    It is after the program's time and `GRACE`. `started` is handed the process, so that another thread may `kill` it.
    No process is left behind, however this ends.
    """
    request = {
        "files": {name: bytes(content) for name, content in program.files.items()},
        "command": [sys.executable if program.command[0] == "python" else program.command[0], *program.command[1:]],
        "environment": _environment(),
        "limits": {**asdict(limits), "cpu_seconds": ceil(limits.cpu_seconds or limits.seconds)},
        "user": None if os.geteuid() else _stranger(),
        "filter": seccomp.program(os.uname().machine),
        "places": list(_places()) if kind == "namespace" else None,
    }
    room = _bubblewrap(limits) if kind == "bubblewrap" else ()
    with os.fdopen(os.memfd_create("request"), "w+b") as handed:
        handed.write(marshal.dumps(_code()) + marshal.dumps(request))
        handed.seek(0)
        process = subprocess.Popen(
            [*room, sys.executable, "-I", "-S", "-c", _RUN],
            stdin=handed,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
    last = threading.Timer(limits.seconds + GRACE, kill, [process])
    try:
        last.start()
        started(process)
        answer, _ = process.communicate()
        return marshal.loads(answer) if answer else None
    finally:
        last.cancel()
        kill(process)
        process.wait()


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a warden, and with it all in its room."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@cache
def _code() -> CodeType:
    return compile(Path(warden.__file__).read_bytes(), "warden", "exec")


def _bubblewrap(limits: Limits) -> Iterator[str]:
    """The command that builds the room and becomes the warden in it as process 1."""
    yield from ("bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
    yield from ("--hostname", "sandbox", "--die-with-parent", "--as-pid-1")
    if os.geteuid():
        yield "--unshare-user"
    else:
        yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    for kind, source, target in _places():
        for parent in reversed(PurePath(target).parents[:-1]):  # which it would make for its own user alone
            yield from ("--dir", str(parent))
        match kind:
            case "private":
                yield from ("--perms", "1777", "--size", str(limits.files_bytes), "--tmpfs", target)
            case "processes":
                yield from ("--proc", target)
            case _:
                yield from ({"read": "--ro-bind", "device": "--dev-bind", "link": "--symlink"}[kind], source, target)
    yield from ("--remount-ro", "/", "--")


def _places() -> Iterator[_Place]:
    """All that a program sees: the system and Python for reading, a folder of its own, its own processes."""
    yield "private", "", HOME
    yield "processes", "", "/proc"
    for device in _DEVICES:
        yield "device", f"/dev/{device}", f"/dev/{device}"
    yield "link", HOME, "/dev/shm"
    yield "link", "/proc/self/fd", "/dev/fd"
    for path in _SYSTEM:
        if os.path.islink(path) and not os.path.isabs(os.readlink(path)):
            yield "link", os.readlink(path), path
        elif os.path.exists(path):
            yield "read", os.path.realpath(path), path
    yield from (("read", path, path) for path in _python())


def _python() -> list[str]:
    """The folders of this interpreter and its packages that are not the system's. Refused where they hold the home."""
    named = {path for prefix in (sys.prefix, sys.base_prefix) for path in (prefix, os.path.realpath(prefix))}
    folders = sorted(path for path in named if not Path(path).is_relative_to("/usr"))
    homes = [Path(os.path.expanduser("~")), Path(os.path.realpath(os.path.expanduser("~")))]
    for folder in folders:
        if any(home.is_relative_to(folder) for home in homes):
            hint = f"Programs would see the home folder, since Python is installed in {folder}; use another one."
            raise InputError("sandbox-python", hint)
    return folders


def _environment() -> dict[str, str]:
    """Nothing of ours but what computes; hashes are fixed, so that a program ends alike each time."""
    return {
        "PATH": os.pathsep.join([f"{sys.prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": HOME,
        "TMPDIR": HOME,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    }


def _stranger() -> int:
    """A user that owns nothing, another for each program: root's programs are not root's, nor each other's."""
    user = _STRANGERS + os.getpid() % (1 << 15) * (1 << 10) + next(_count) % (1 << 10)
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= user < first + count:
            return user
    return 65_534
