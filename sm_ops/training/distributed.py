"""Run one function in several processes of this machine, for a training that they share.

They stay in the caller's process group, so that whoever kills the group kills all of them, and they die with the
caller. They meet through a file and talk over the loopback alone; torchrun would start each in a session of its own
and open a store without a password on every interface.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.ending import PATIENCE, deferred
from sm_ops.core.errors import ERRORS, BugError, InputError, sanitise
from sm_ops.core.processes import command, end_with_parent, environment
from sm_ops.core.types import Progress, unheard

_LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
_TASK, _RESULT, _PROGRESS, _MEETING = "task.pt", "result.pt", "progress.json", "meeting"


def run(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    processes: int,
    device: str,
    threads: int,
    scratch: Path,
    progress: Progress = unheard,
) -> Any:
    """What `function(progress, *arguments)` returns in the first of so many processes, which all run it.

    `function` is found by its module's name and the rest is pickled. `device` is `cpu` or `cuda`, where each process
    has a GPU of its own. SIGTERM goes on to the processes; it takes its effect here when they have ended.

    Raises `InputError` when there are fewer GPUs, or when a process was ended from outside; an `SmOpsError` of a
    process is raised again, and ends the others.
    """
    import torch

    if device == "cuda" and processes > torch.cuda.device_count():
        raise InputError(
            "too-few-gpus",
            f"Training on {processes} processes needs as many GPUs, but this machine has {torch.cuda.device_count()}; "
            "lower processes, or set device to cpu.",
        )
    folder = scratch / "ranks"
    shutil.rmtree(folder, ignore_errors=True)
    fs.private_folder(folder)
    ranks: list[subprocess.Popen[bytes]] = []
    with deferred() as asked_to_leave:
        try:
            torch.save((function, arguments, device), folder / _TASK)
            for rank in range(processes):
                ranks.append(_start(rank, processes, threads, folder))
            ended = _wait(ranks, folder, progress, asked_to_leave)
            if asked_to_leave():
                return None  # to nobody
            _raise_failure(ended, folder)
            return torch.load(folder / _RESULT, map_location="cpu", weights_only=False)
        finally:
            for each in ranks:
                _end(each)
            shutil.rmtree(folder, ignore_errors=True)


def require_no_launcher() -> None:
    """Refuse to train as one process of several that torchrun or the like has started: each would do all of it."""
    if "LOCAL_RANK" in os.environ and int(os.environ.get("WORLD_SIZE", 1)) > 1:
        raise InputError(
            "launched-from-outside",
            "A launcher such as torchrun started this process as one of several; start it alone and set processes.",
        )


def agreed(asked: Callable[[], bool]) -> Callable[[], bool]:
    """Whether any process says yes: all of them ask at the same time, and get the same answer."""
    import torch

    if not torch.distributed.is_initialized():
        return asked

    def ask() -> bool:
        answer = torch.tensor(int(asked()))
        torch.distributed.all_reduce(answer, torch.distributed.ReduceOp.MAX)
        return bool(answer)

    return ask


# ---- the caller ----------------------------------------------------------------------------------------


def _start(rank: int, processes: int, threads: int, folder: Path) -> subprocess.Popen[bytes]:
    place = {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes), "LOCAL_WORLD_SIZE": str(processes),
        "OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false", "TORCH_CPP_LOG_LEVEL": "ERROR",
    }  # fmt: skip
    own = command("sm_ops.training.distributed", str(folder))
    return subprocess.Popen(own, stdin=subprocess.PIPE, stdout=2, env=environment(**_LOOPBACK, **place))


def _wait(
    ranks: list[subprocess.Popen[bytes]], folder: Path, progress: Progress, asked_to_leave: Callable[[], bool]
) -> list[int | None]:
    """How each has ended, or None, when all have, one has failed, or they were asked to leave and had time for it."""
    told, deadline = None, None
    while True:
        ended = [rank.poll() for rank in ranks]
        news = _read(folder / _PROGRESS)
        if news is not None and news != told:
            progress(*news)
            told = news
        if None not in ended or (any(ended) if deadline is None else time.monotonic() > deadline):
            return ended
        if deadline is None and asked_to_leave():
            deadline = time.monotonic() + PATIENCE
            for rank in ranks:
                rank.terminate()
        time.sleep(0.05)


def _end(rank: subprocess.Popen[bytes]) -> None:
    rank.kill()
    rank.wait()
    assert rank.stdin is not None
    rank.stdin.close()


def _raise_failure(ended: list[int | None], folder: Path) -> None:
    """Tell the first failure; that a peer is gone is no failure of its own."""
    files = sorted(folder.glob("failure-*.json"), key=lambda path: path.stat().st_mtime_ns)
    told = [ERRORS[kind](code, hint) for kind, code, hint in map(fs.read_json, files)]
    if any(code is not None and code < 0 for code in ended):
        told = [each for each in told if not isinstance(each, BugError)]
    if told:
        raise told[0]
    if any(ended):
        raise InputError(
            "training-process-died",
            f"One of the {len(ended)} processes of this training was ended from outside (killed, or out of memory); "
            "run the same command again, it goes on from the last checkpoint.",
        )


def _read(path: Path) -> list[int] | None:
    try:
        return fs.read_json(path)
    except FileNotFoundError:
        return None


# ---- one process ---------------------------------------------------------------------------------------


def main() -> None:
    """Join the others and run the function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the caller's to handle
    end_with_parent(signal.SIGKILL)
    folder, rank = Path(sys.argv[1]), int(os.environ["RANK"])
    try:
        result = _join(folder, rank)
    except Exception as error:
        told = sanitise(error)
        if isinstance(told, BugError):
            traceback.print_exc()
        _write(folder / f"failure-{rank}.json", [type(told).__name__, told.code, told.hint])
        os._exit(1)  # peers that wait for this process are not waited for
    if rank == 0:
        import torch

        torch.save(result, folder / _RESULT)


def _join(folder: Path, rank: int) -> Any:
    import torch

    function, arguments, device = torch.load(folder / _TASK, map_location="cpu", mmap=True, weights_only=False)
    processes = int(os.environ["WORLD_SIZE"])
    if device == "cuda":
        torch.cuda.set_device(rank)
    torch.distributed.init_process_group(
        "cpu:gloo,cuda:nccl" if device == "cuda" else "gloo",
        store=torch.distributed.FileStore(str(folder / _MEETING), processes),  # pyright: ignore[reportPrivateImportUsage]
        rank=rank,
        world_size=processes,
    )
    told = (lambda done, total: _write(folder / _PROGRESS, [done, total])) if rank == 0 else unheard
    try:
        return function(told, *arguments)
    finally:
        torch.distributed.destroy_process_group()


def _write(path: Path, value: Any) -> None:
    """For a reader at any time; nothing has to outlive the machine."""
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(value))
    unfinished.replace(path)


if __name__ == "__main__":
    main()
