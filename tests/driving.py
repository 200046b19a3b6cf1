"""Drive `sm-ops` as a user would: subprocesses over a home folder, and what they leave in the store."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from processes import arguments, living

from sm_ops.core import fs

ROOT = Path(__file__).resolve().parents[1]
SMALLEST = ROOT / "tests" / "pipelines" / "smallest.yaml"


def environment(home: Path, source: Path = ROOT) -> dict[str, str]:
    """The environment of a run over the code in `source`."""
    return {**os.environ, "SM_OPS_HOME": str(home), "PYTHONPATH": str(source)}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "sm_ops.cli", *arguments]


def run_cli(*arguments: str, home: Path, source: Path = ROOT, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        command(*arguments),
        env=environment(home, source),
        cwd=home.parent,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def start_cli(*arguments: str, home: Path, source: Path = ROOT) -> subprocess.Popen[str]:
    """Start one command in a process group of its own, as a shell does."""
    return _start(command(*arguments), home, source)


def _start(words: list[str], home: Path, source: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words,
        env=environment(home, source),
        cwd=home.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


STEPS = """
import sys; from pathlib import Path
from sm_ops.core.config import load_pipeline, resolve; from sm_ops.core.home import home_folder
from sm_ops.runner import run_pipeline
run_pipeline(resolve(load_pipeline(sys.argv[1])), home_folder(), int(sys.argv[2]))
"""


def run_steps(home: Path, source: Path = ROOT, config: Path = SMALLEST, jobs: int = 2) -> list[str]:
    """Make all steps without report and tracking; the lines that told of it."""
    process = start_steps(home, source, config, jobs)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return err.splitlines()


def start_steps(home: Path, source: Path = ROOT, config: Path = SMALLEST, jobs: int = 2) -> subprocess.Popen[str]:
    """Begin to make all steps."""
    return _start([sys.executable, "-P", "-c", STEPS, str(config), str(jobs)], home, source)


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Poll until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def workers_of(home: Path) -> list[int]:
    """Process ids of living workers over a home."""
    commands = ((pid, arguments(pid)) for pid in living())
    return [pid for pid, command in commands if "sm_ops.core.worker" in command and str(home) in command]


def is_making(home: Path, stage: str) -> bool:
    """Whether a worker has begun to write a result of the stage."""
    return any((home / "store" / ".tmp").glob(f"{stage}-*"))


def records(home: Path) -> dict[str, dict]:
    """Every stored record by step."""
    found = (fs.read_json(path) for path in (home / "store").glob("*/*/record.json"))
    return {record["step"]: record for record in found}


def hashes(home: Path) -> dict[str, dict[str, str]]:
    """What every step made, by step and output: the content itself, not what a record says of it."""
    result = {}
    for step, record in records(home).items():
        roots = {"restricted": home / "restricted"}
        folder = Path(record["stage"]) / record["fingerprint"][:16]
        result[step] = {
            name: fs.content_hash(roots.get(output["cls"], home / "store") / folder / name)
            for name, output in record["outputs"].items()
        }
    return result


def copy_home(source: Path, target: Path, without: str | None = None) -> Path:
    """A copy of a home, with the results of one stage removed."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("runs"))
    if without:
        for root in ("store", "restricted"):
            shutil.rmtree(target / root / without, ignore_errors=True)
    return target


def copy_source(target: Path) -> Path:
    """A copy of the code that a test may change."""
    for name in ("sm_ops", "flows", "configs"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    return target
