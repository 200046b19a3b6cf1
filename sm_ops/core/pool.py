"""A pool of worker processes that execute steps, each in a process group that ends with the run."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from sm_ops.core.errors import ERRORS, BugError, InputError
from sm_ops.core.execute import Outcome
from sm_ops.core.stage import Step
from sm_ops.core.store import Record, Store
from sm_ops.core.worker import step_to_json

Listener = Callable[[Step, dict[str, Any]], None]


class Pool:
    """Up to `size` workers, started when first needed; `run` may be called from several threads."""

    def __init__(self, store: Store, size: int, listener: Listener = lambda step, message: None) -> None:
        self._store = store
        self._listener = listener
        self._slots: queue.Queue[subprocess.Popen[str] | None] = queue.Queue()
        self._processes: list[subprocess.Popen[str]] = []
        self._guard = threading.Lock()
        for _ in range(size):
            self._slots.put(None)

    def run(self, step: Step, upstream: dict[str, Record]) -> Outcome:
        """Execute one step in a free worker, waiting for one if all are busy."""
        process = self._slots.get()
        try:
            if process is None or process.poll() is not None:
                process = self._start()
            return self._ask(process, step, upstream)
        finally:
            self._slots.put(process)

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every worker and whatever it started."""
        with self._guard:
            processes, self._processes = self._processes, []
        for process in processes:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with suppress(OSError):
                        pipe.close()

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "sm_ops.core.worker", str(self._store.home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
            env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "DO_NOT_TRACK": "true"},
        )
        with self._guard:
            self._processes.append(process)
        return process

    def _ask(self, process: subprocess.Popen[str], step: Step, upstream: dict[str, Record]) -> Outcome:
        assert process.stdin is not None
        assert process.stdout is not None
        request = {
            "step": step_to_json(step),
            "upstream": {name: upstream[name].to_json() for name in sorted(step.upstream)},
        }
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if "error" in answer:
                kind, code, hint = answer["error"]
                raise ERRORS.get(kind, BugError)(code, hint)
            if "record" in answer:
                record = Record.from_json(answer["record"])
                return Outcome(record, answer["found"], tuple(answer["reasons"]))
            self._listener(step, answer)
        raise InputError(
            "worker-died",
            f"The process of step {step.name} was ended from outside (killed, or out of memory); "
            "run the same command again, finished steps are found.",
        )
