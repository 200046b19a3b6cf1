"""How this machine can keep a program in: bubblewrap, namespaces that we make ourselves, or not at all."""

from __future__ import annotations

import os
import re
import shutil
import sys
from functools import cache

from sm_ops.core.errors import InputError
from sm_ops.evaluation.sandbox import seccomp, wardens
from sm_ops.evaluation.sandbox.limits import DEFAULT, Program

_KERNEL = (5, 14)  # counts processes for each user namespace alone, and has mount_setattr
_ADVICE = (
    "Install bubblewrap (`make sandbox`) or let this user make namespaces: sysctl user.max_user_namespaces above 0, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container "
    "--cap-add SYS_ADMIN and --security-opt seccomp=unconfined, apparmor=unconfined, systempaths=unconfined "
    "(docs/how-to/sandbox.md)"
)


def isolation() -> str:
    """What keeps programs in here: `bubblewrap`, `namespace` (the same walls, made by us) or `refused`."""
    return _found()[0]


def required() -> str:
    """`isolation()`, or an `InputError` that says why there is none and how to allow it."""
    kind, troubles = _found()
    if kind == "refused":
        hint = f"No generated program is run, since nothing keeps it in ({troubles}). {_ADVICE}."
        raise InputError("no-sandbox", hint)
    return kind


@cache
def _found() -> tuple[str, str]:
    """The first kind in which an empty program passes, or what hinders each."""
    troubles = {kind: _trouble(kind) for kind in wardens.KINDS}
    working = next((kind for kind, trouble in troubles.items() if trouble is None), "refused")
    return working, "; ".join(f"{kind}: {trouble}" for kind, trouble in troubles.items())


def _trouble(kind: str) -> str | None:
    if sys.platform != "linux" or os.uname().machine not in seccomp.MACHINES:
        return f"only on Linux on {' or '.join(sorted(seccomp.MACHINES))}"
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < _KERNEL:
        return f"the kernel is older than {'.'.join(map(str, _KERNEL))}"
    if kind == "bubblewrap" and not shutil.which("bwrap"):
        return "not installed"
    try:
        answer = wardens.ask(kind, Program({}, [sys.executable, "-I", "-S", "-c", ""]), DEFAULT)
    except OSError as error:
        return error.strerror
    if answer is None:
        return "it cannot make a process of new namespaces"
    return answer["broken"] if "broken" in answer else None if answer["reason"] == "passed" else answer["reason"]
