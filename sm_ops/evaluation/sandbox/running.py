"""Runs programs in the sandbox, one or many at a time."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import PurePosixPath

from sm_ops.core.errors import InputError
from sm_ops.core.types import Progress
from sm_ops.evaluation.sandbox import wardens
from sm_ops.evaluation.sandbox.available import required
from sm_ops.evaluation.sandbox.limits import DEFAULT, Limits, Outcome, Program

_MOST = 8
"""Programs at a time, at most."""
_BATCH = 64


def run(files: Mapping[str, bytes], command: Sequence[str], limits: Limits = DEFAULT) -> Outcome:
    """Run a command in a private folder that holds these files (by relative name), and say how it ended.

    `python` is this interpreter with its packages. The program sees the system for reading, its own folder and its own
    processes; no network. It passes when it ends with 0. Raises `InputError` where nothing can keep it in, for a name
    that leaves the folder, for files beyond the limit, and for a command that cannot be started.
    """
    return run_all([Program(files, command)], limits)[0]


def run_all(programs: Iterable[Program], limits: Limits = DEFAULT, workers: int = 1) -> list[Outcome]:
    """`run` of each, up to `workers` at a time; outcomes in the order of the programs. A bad one stops all."""
    programs = [Program(*program) for program in programs]
    for program in programs:
        _check(program, limits)
    kind = required()
    running: list[subprocess.Popen[bytes]] = []
    given_up = threading.Event()

    def started(process: subprocess.Popen[bytes]) -> None:
        running.append(process)
        if given_up.is_set():
            wardens.kill(process)

    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(lambda program: _run(kind, program, limits, started), programs))
        except BaseException:  # the rest is not worth waiting for
            given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                wardens.kill(process)
            raise


def run_many(programs: Iterable[Program], total: int, limits: Limits, progress: Progress) -> list[Outcome]:
    """`run_all` of `total` programs, a batch after the other, on this process's processors; `progress` after each."""
    programs, ended = iter(programs), []
    workers = min(_MOST, len(os.sched_getaffinity(0)))
    while batch := list(islice(programs, _BATCH)):
        ended += run_all(batch, limits, workers)
        progress(len(ended), total)
    return ended


def _run(kind: str, program: Program, limits: Limits, started: wardens.Started) -> Outcome:
    start = time.monotonic()
    answer = wardens.ask(kind, program, limits, started)
    if answer is None:
        seconds = time.monotonic() - start
        return Outcome(False, "timeout" if seconds > limits.seconds + wardens.GRACE else "killed", seconds)
    if "broken" in answer:
        raise InputError(
            "sandbox-start",
            f"{program.command[0]} does not start in the sandbox: {answer['broken']}; "
            "check the command, and that every user may read Python's folder.",
        )
    return Outcome(answer["reason"] == "passed", answer["reason"], answer["seconds"])


def _check(program: Program, limits: Limits) -> None:
    if not program.command:
        raise InputError("sandbox-command", "A program has no command; name what runs it, as in `python tests.py`.")
    for name in program.files:
        path = PurePosixPath(name)
        if path.is_absolute() or not path.name or ".." in path.parts or "\0" in name:
            raise InputError("sandbox-name", "A program's file has a name that leaves its folder; use relative names.")
    if sum(map(len, program.files.values())) > limits.files_bytes:
        raise InputError("sandbox-files", "A program's files are larger than the limit files_bytes; raise it.")
