"""A worker process: reads one step a line from its standard input, executes it, answers a line of JSON.

Run as `python -m sm_ops.core.worker HOME`, with standard error going to a restricted log. It leads a process
group of its own, keeps the libraries it has imported between steps, and dies with its parent. SIGTERM ends the group,
after a training has written its checkpoint (`ending`).
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from sm_ops.core.ending import PATIENCE
from sm_ops.core.errors import SmOpsError
from sm_ops.core.execute import execute
from sm_ops.core.stage import Output, Stage, Step
from sm_ops.core.store import Record, Store


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as plain JSON, for a worker."""
    return asdict(step)


def step_from_json(value: dict[str, Any]) -> Step:
    """The step that `step_to_json` wrote."""
    stage = value["stage"]
    return Step(
        name=value["name"],
        stage=Stage(
            **{
                **stage,
                "outputs": tuple(Output(**output) for output in stage["outputs"]),
                "sections": tuple(stage["sections"]),
                "places": tuple(stage["places"]),
                "members": tuple(tuple(member) for member in stage["members"]),
            }
        ),
        settings=value["settings"],
        inputs={name: (source, output) for name, (source, output) in value["inputs"].items()},
    )


def main() -> None:
    """Answer steps until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, lambda *_: _end_group())
    answers = _take_stdout()
    requests: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    store = Store(Path(sys.argv[1]))
    while True:
        request = json.loads(requests.get())
        _answer(answers, _serve(request, store, answers))


def _serve(request: dict[str, Any], store: Store, answers: TextIO) -> dict[str, Any]:
    step = step_from_json(request["step"])
    upstream = {name: Record.from_json(record) for name, record in request["upstream"].items()}
    try:
        outcome = execute(
            step,
            upstream,
            store,
            progress=lambda done, total: _answer(answers, {"progress": [done, total]}),
            waiting=lambda sentence: _answer(answers, {"waiting": sentence}),
            failed=_log,
        )
    except SmOpsError as error:
        return {"error": [type(error).__name__, error.code, error.hint]}
    return {"record": outcome.record.to_json(), "found": outcome.found, "reasons": list(outcome.reasons)}


def _read_requests(requests: queue.Queue[str]) -> None:
    """Queue the lines; at the end of the input the parent is gone, so the whole group goes too."""
    for line in sys.stdin:
        requests.put(line)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    _end_group()


def _end_group() -> None:
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _take_stdout() -> TextIO:
    """Keep the pipe to the parent for answers; what libraries print goes where standard error goes."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _log(error: Exception) -> None:
    with suppress(OSError):  # the disk may be what failed
        traceback.print_exception(error)


def _answer(answers: TextIO, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
