"""A worker that lets its runs end in order: `python -m flows.worker --pool POOL`.

Prefect's own worker kills a run's process when it is told to end, and the server hears of it from nobody. Here each
run is asked first: its training writes a checkpoint, and the run reports `Crashed` itself. Where the worker died, it
does so of itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from flows._settings import configure
from sm_ops.core import processes
from sm_ops.core.ending import PATIENCE
from sm_ops.core.home import home_folder

MARK = "SM_OPS_WORKER"
"""In the environment of whatever a worker starts."""
_RUN = "PREFECT__FLOW_RUN_ID"
_ENGINES = {"prefect.engine", "prefect.flow_engine"}
_REPORT = 15
"""Seconds that a run has to tell the server of its end, beyond those that its steps have to leave."""
_PAUSE = 0.3


def main(options: list[str]) -> int:
    """Work until a signal, and end what is left then; the worker's exit code, or 0 when it was told to end.

    `options` are those of `prefect worker start`.
    """
    told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, lambda *_: told.set())
    words = ["worker", "start", "--type", "process", "--install-policy", "never", *options]
    worker = subprocess.Popen(
        processes.command("prefect", "--no-prompt", *words),
        env=processes.environment(**{MARK: str(os.getpid())}),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    threading.Thread(target=_watch, args=(told,), daemon=True).start()
    try:
        while worker.poll() is None and not told.is_set():
            told.wait(_PAUSE)
        if worker.poll() is None:
            _ask_to_leave(worker)
        else:
            _wait_for_runs()
    finally:
        worker.kill()
        _signal(_marked(), signal.SIGKILL)
    return 0 if told.is_set() else worker.wait()


def _watch(told: threading.Event) -> None:
    configure(home_folder())
    from flows._silent import watch

    watch(told)


def _ask_to_leave(worker: subprocess.Popen[bytes]) -> None:
    """Ask every run, and then the worker, which takes no other run meanwhile because it is stopped."""
    worker.send_signal(signal.SIGSTOP)
    _signal(_runs(), signal.SIGTERM)
    _wait_for_runs()
    worker.send_signal(signal.SIGCONT)
    worker.terminate()
    with suppress(subprocess.TimeoutExpired):
        worker.wait(_REPORT)


def _wait_for_runs() -> None:
    deadline = time.monotonic() + PATIENCE + _REPORT
    while _runs() and time.monotonic() < deadline:
        time.sleep(_PAUSE)


def _runs() -> list[Any]:
    """The processes in which flows run."""
    return [each for each in _marked(_RUN) if _ENGINES & set(each.info["cmdline"])]


def _marked(variable: str = MARK) -> list[Any]:
    """Living processes (psutil's) that our worker, or one of them, has started, and that have such a variable."""
    import psutil

    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environment = process.info["environ"] or {}  # none of a zombie, or of another user
        if environment.get(MARK) == str(os.getpid()) and variable in environment:
            found.append(process)
    return found


def _signal(processes: list[Any], number: signal.Signals) -> None:
    import psutil

    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it has just ended
            process.send_signal(number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
