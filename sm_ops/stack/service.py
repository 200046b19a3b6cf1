"""What a service of the stack is: how it starts, when it answers, how it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SHARED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH")
"""What a server gets of the environment of who starts the stack: no key of a vault, no credentials of a cloud."""


def shared_environment() -> dict[str, str]:
    """The variables that every server gets."""
    found = {name: os.environ[name] for name in SHARED if name in os.environ}
    return {**found, "DO_NOT_TRACK": "true", "PYTHONUNBUFFERED": "1"}


def nothing() -> None:
    """There is nothing to prepare."""


@dataclass(frozen=True)
class Service:
    """One service: `needs` answer before `prepare` and then `command` run; `answers` says whether it is ready."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(repr=False)
    folder: Path
    """Where it works."""
    answers: Callable[[], bool]
    url: str | None = None
    needs: tuple[str, ...] = ()
    prepare: Callable[[], None] = nothing
    user: str | None = None
    """Another user that it runs as."""
    umask: int = 0o077
    ends_by: signal.Signals = signal.SIGTERM
    patience: int = 20
    """Seconds that it has to end in order."""


def http_answers(url: str) -> Callable[[], bool]:
    """Whether a server says anything at an address, and be it that one may not."""

    def ask() -> bool:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import ProxyHandler, build_opener

        try:
            with build_opener(ProxyHandler({})).open(url, timeout=5) as answer:
                return answer.status < 500
        except HTTPError as error:
            return error.code < 500
        except (OSError, HTTPException):
            return False

    return ask
