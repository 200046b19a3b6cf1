"""A flow's process: in a session of its own, so that Ctrl-C reaches the flow and not the Prefect server beside it.

The server would end at once, and the flow then wait minutes for it instead of ending its tasks in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from sm_ops.core import processes
from sm_ops.core.errors import EXIT_INTERRUPTED, sanitise

INSIDE = "--inside"
PATIENCE = 20
"""Seconds that an interrupted flow has to end in order."""


def run_apart(module: str, arguments: list[str]) -> int:
    """Run `python -m module --inside ARGUMENTS` to its end and return its exit code; nothing of it is left behind."""
    interrupted = threading.Event()
    command, environment = processes.command(module, INSIDE, *arguments), processes.environment()
    child = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True)

    def interrupt(*_: object) -> None:
        if not interrupted.is_set():
            interrupted.set()
            child.send_signal(signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, interrupt)
    waited = 0.0
    while child.poll() is None and waited < PATIENCE:
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=0.5)
        waited += 0.5 * interrupted.is_set()
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    return EXIT_INTERRUPTED if interrupted.is_set() else child.wait()


def end_with_parent() -> None:
    """Inside: be interrupted by SIGINT, and when `run_apart`, which holds the other end of standard input, is gone."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the shell ran us in the background
    processes.end_with_parent(signal.SIGINT)


def in_words(work: Callable[[], int | None]) -> int:
    """The exit code of a command; its failure is one sentence on standard error, without values."""
    try:
        return work() or 0
    except KeyboardInterrupt:
        print("sm-ops: interrupted; run the same command again, what is done is found.", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as error:
        failure = sanitise(error)
        print(f"sm-ops: {failure}", file=sys.stderr)
        return failure.exit_code
