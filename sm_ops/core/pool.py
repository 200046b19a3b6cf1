"""A pool of worker processes that execute steps, each in a process group that ends with the run."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from sm_ops.core import fs, processes
from sm_ops.core.ending import PATIENCE
from sm_ops.core.errors import ERRORS, BugError, InputError, SmOpsError
from sm_ops.core.execute import Outcome
from sm_ops.core.stage import Step
from sm_ops.core.store import Record, Store
from sm_ops.core.worker import step_to_json

Listener = Callable[[Step, dict[str, Any]], None]


@dataclass
class _Worker:
    """A worker process and the restricted file that holds what its libraries print."""

    process: subprocess.Popen[str]
    log: Path
    keep_log: bool = False

    @property
    def ended(self) -> bool:
        """Whether `end` was called; a process that died by itself is noticed when it is asked."""
        return self.process.returncode is not None

    def ask_to_leave(self) -> None:
        """Let it save what it can: a training writes a checkpoint (`ending.deferred`)."""
        if not self.ended:
            self.process.terminate()

    def end(self, patience: float = 0) -> None:
        """Wait so many seconds, then kill what is left of the process group.

        Its leader is reaped only then: its id is ours until we do.
        """
        if self.ended:
            return
        _wait_unreaped(self.process.pid, patience)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()
        if not self.keep_log:
            self.log.unlink(missing_ok=True)


class Pool:
    """Up to `size` workers, started when first needed; `run` may be called from several threads."""

    def __init__(self, store: Store, size: int, listener: Listener = lambda step, message: None) -> None:
        self._store = store
        self._listener = listener
        self._slots: queue.Queue[_Worker | None] = queue.Queue()
        self._workers: list[_Worker] = []
        self._guard = threading.Lock()
        self._closed = False
        for _ in range(size):
            self._slots.put(None)

    def run(self, step: Step, upstream: dict[str, Record]) -> Outcome:
        """Execute one step in a free worker, waiting for one if all are busy."""
        worker = self._slots.get()
        try:
            if worker is None or worker.ended:
                worker = self._start()
            return self._ask(worker, step, upstream)
        finally:
            self._slots.put(worker)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every worker and whatever it started; none is started afterwards."""
        with self._guard:
            self._closed = True
            deadline = time.monotonic() + PATIENCE
            for worker in self._workers:
                worker.ask_to_leave()
            for worker in self._workers:
                worker.end(deadline - time.monotonic())

    def _start(self) -> _Worker:
        """A new process over this very source, whatever lies in the present folder."""
        with self._guard:
            if self._closed:
                raise InputError("run-ended", "The run has ended, so no further step is started.")
            logs = fs.private_folder(fs.private_folder(self._store.restricted) / "logs")
            descriptor, log = tempfile.mkstemp(dir=logs, prefix="worker-", suffix=".log")
            try:
                process = subprocess.Popen(
                    processes.command("sm_ops.core.worker", str(self._store.home)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=descriptor,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,
                    env=processes.environment(TOKENIZERS_PARALLELISM="false", DO_NOT_TRACK="true"),
                )
            finally:
                os.close(descriptor)
            worker = _Worker(process, Path(log))
            self._workers.append(worker)
            return worker

    def _ask(self, worker: _Worker, step: Step, upstream: dict[str, Record]) -> Outcome:
        assert worker.process.stdin is not None
        assert worker.process.stdout is not None
        request = {
            "step": step_to_json(step),
            "upstream": {name: upstream[name].to_json() for name in sorted(step.upstream)},
        }
        with suppress(OSError, ValueError):  # it died, or was ended, which the missing answer tells
            worker.process.stdin.write(json.dumps(request) + "\n")
            worker.process.stdin.flush()
        while (line := _read_line(worker.process.stdout)).endswith("\n"):
            answer = json.loads(line)
            if "error" in answer:
                raise self._failure(worker, *answer["error"])
            if "record" in answer:
                record = Record.from_json(answer["record"])
                return Outcome(record, answer["found"], tuple(answer["reasons"]))
            self._listener(step, answer)
        raise self._death(worker, step)

    def _failure(self, worker: _Worker, kind: str, code: str, hint: str) -> SmOpsError:
        if kind == BugError.__name__:
            worker.keep_log = True
            hint = f"{hint} Its traceback, which may hold data, is in {worker.log}"
        return ERRORS[kind](code, hint)

    def _death(self, worker: _Worker, step: Step) -> SmOpsError:
        """Why a worker gave no answer; what it may have left behind is ended too."""
        with self._guard:
            worker.keep_log = not self._closed and worker.log.stat().st_size > 0
            worker.end()
        told = f" What it printed is in {worker.log}" if worker.keep_log else ""
        return InputError(
            "worker-died",
            f"The process of step {step.name} was ended from outside (killed, or out of memory); "
            f"run the same command again, finished steps are found.{told}",
        )


def _wait_unreaped(pid: int, seconds: float) -> None:
    """Wait until a child has ended, without reaping it: its id, and its group's, stay ours."""
    deadline = time.monotonic() + seconds
    with suppress(ChildProcessError):
        while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) and time.monotonic() < deadline:
            time.sleep(0.02)


def _read_line(stream: Any) -> str:
    try:
        return stream.readline()
    except ValueError:  # the pool was closed meanwhile
        return ""
