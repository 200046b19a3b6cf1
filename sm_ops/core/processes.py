"""Modules of our own as processes: of this very source, whatever lies in the present folder, and ended with us."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

SOURCE = str(Path(__file__).resolve().parents[2])
"""The folder that holds `sm_ops` and `flows`: of the checkout, of a copy of it, or of the installed packages."""


def command(module: str, *arguments: str) -> list[str]:
    """`python -m MODULE ARGUMENTS`, of which no module comes from the present folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Our environment and `more`, in which modules come from this source first."""
    path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **more}


def become(module: str, *arguments: str) -> NoReturn:
    """Go on as the process of a module: signals and the exit code are its own."""
    os.execve(sys.executable, command(module, *arguments), environment())


def end_with_parent(number: signal.Signals) -> None:
    """Get a signal when standard input ends: whoever started us and holds its other end has gone."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), number)

    threading.Thread(target=watch, daemon=True).start()
