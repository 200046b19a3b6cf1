"""What runs inside of a training job: the pipeline of the channel `config`, over a home whose results outlive it.

Run as `python -m sm_ops.storage.sagemaker.container`. Below `/opt/ml` (`SAGEMAKER_BASE_DIR`):

    input/data/CHANNEL/     what was uploaded, found to be what was declared before anything begins
    checkpoints/            results and checkpoints of steps: a job that was interrupted finds them when it begins anew
    output/data/            aggregate files of the run
    model/STEP/             the models that its training steps made
    output/failure          an exit code and the code of a sentence: whoever may look at the job reads it

SIGTERM is passed on, so that a training writes its checkpoint.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sm_ops.core import fs, processes
from sm_ops.core.errors import sanitise
from sm_ops.storage.sagemaker.export import is_aggregate
from sm_ops.storage.sagemaker.inputs import received

_TRAINED = ("train", "audit_train")
_KEPT = ("store", "restricted")
_SENTENCE = re.compile(r"sm-ops: .*\[([a-z0-9-]+)\]\s*")


def main() -> None:
    """Run the job, and end with the pipeline's own exit code."""
    base = Path(os.environ.get("SAGEMAKER_BASE_DIR", "/opt/ml"))
    try:
        with tempfile.TemporaryDirectory(prefix="sm-ops-") as home:
            code, word = _run(base, Path(home))
    except Exception as error:
        told = sanitise(error)
        print(f"sm-ops: {told}", file=sys.stderr)
        code, word = told.exit_code, told.code
    failure = base / "output" / "failure"
    failure.unlink(missing_ok=True)  # whoever wrote one, its text may hold data
    if code:
        failure.write_text(f"sm-ops ended with exit code {code} [{word}]", encoding="utf-8")
    sys.exit(code)


def _run(base: Path, home: Path) -> tuple[int, str]:
    """The pipeline's exit code, and the code of the last sentence that it said."""
    config = home / "config.yaml"
    fs.write_json(config, received(base))
    for name in _KEPT:
        (home / name).symlink_to(fs.private_folder(base / "checkpoints" / name), target_is_directory=True)
    environment = processes.environment(SM_OPS_HOME=str(home), HF_HUB_OFFLINE="1", DO_NOT_TRACK="true")
    process = subprocess.Popen(
        processes.command("sm_ops.cli", "sagemaker", "inside", str(config)),
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    word = "unknown"
    with _passed_on(process):
        for line in process.stderr or ():
            sys.stderr.write(line)
            if said := _SENTENCE.fullmatch(line):
                word = said[1]
        code = process.wait()
    if code == 0:
        _hand_over(home, base)
    return (code, word) if code >= 0 else (128 - code, signal.Signals(-code).name)


@contextmanager
def _passed_on(process: subprocess.Popen[str]) -> Iterator[None]:
    """SIGTERM is the pipeline's to handle, which then ends with 130."""
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _hand_over(home: Path, base: Path) -> None:
    """Aggregates to where they may be exported from, and models."""
    (run,) = (home / "runs").iterdir()
    target = base / "output" / "data"
    target.mkdir(parents=True, exist_ok=True)
    for path in run.iterdir():
        if path.is_file() and is_aggregate(path.name):
            shutil.copyfile(path, target / path.name)
    for name, step in fs.read_json(run / "run.json")["steps"].items():
        model = home / "restricted" / step["stage"] / step["fingerprint"][:16] / "model"
        if step["stage"] in _TRAINED and model.is_dir():
            shutil.copytree(model, base / "model" / name, copy_function=_link, dirs_exist_ok=True)


def _link(source: Any, target: Any) -> None:
    with suppress(FileExistsError):
        try:
            os.link(source, target)
        except OSError:  # another disk
            shutil.copyfile(source, target)


if __name__ == "__main__":
    main()
