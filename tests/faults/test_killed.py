"""Whatever is killed: the next run makes the same bytes, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from driving import (
    SMALLEST,
    copy_home,
    hashes,
    is_making,
    records,
    run_steps,
    start_cli,
    start_steps,
    wait_for,
    workers_of,
)

from sm_ops.stages import SURPRISE

REPRESENTATIVE = ("synthesize", "train")


def stages(chosen: tuple[str, ...] = REPRESENTATIVE) -> list:
    """All stages; those that are not chosen only in the full matrix."""
    return [pytest.param(s.name, marks=[] if s.name in chosen else pytest.mark.slow) for s in SURPRISE]


def started(home, stage: str) -> subprocess.Popen[str]:
    """A run that has begun to make a result of the stage."""
    return begun(start_cli("run", str(SMALLEST), "--jobs", "2", home=home), home, stage)


def begun(process: subprocess.Popen[str], home, stage: str) -> subprocess.Popen[str]:
    wait_for(lambda: is_making(home, stage) or process.poll() is not None)
    assert process.poll() is None, process.stderr.read()
    return process


def said(process: subprocess.Popen[str]) -> list[str]:
    _, err = process.communicate(timeout=30)
    return [line for line in err.splitlines() if line.startswith("sm-ops:") or "Traceback" in line]


def resumed_and_equal(home, finished_home) -> None:
    wait_for(lambda: workers_of(home) == [], 10)
    run_steps(home)
    assert hashes(home) == hashes(finished_home)
    again, once = records(home), records(finished_home)
    assert {step: record["numbers"] for step, record in again.items()} == {
        step: record["numbers"] for step, record in once.items()
    }
    remains = [path for root in ("store/.tmp", "restricted/.tmp", "restricted/.scratch")
               for path in (home / root).iterdir()]  # fmt: skip
    assert remains == []


@pytest.mark.parametrize("stage", stages())
def test_a_killed_worker_ends_the_run_in_a_sentence(stage, finished_home, tmp_path):
    home = copy_home(finished_home, tmp_path / "home", without=stage)
    process = started(home, stage)
    for worker in workers_of(home):
        os.killpg(worker, signal.SIGKILL)
    (sentence,) = said(process)
    assert process.returncode == 2
    assert "was ended from outside" in sentence
    resumed_and_equal(home, finished_home)


@pytest.mark.parametrize("stage", stages(("score",)))
def test_a_killed_run_takes_its_workers_along(stage, finished_home, tmp_path):
    home = copy_home(finished_home, tmp_path / "home", without=stage)
    process = started(home, stage)
    assert workers_of(home)
    process.kill()
    assert said(process) == []
    resumed_and_equal(home, finished_home)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stage", stages(("base",)))
def test_an_interrupt_ends_everything(stage, number, finished_home, tmp_path):
    home = copy_home(finished_home, tmp_path / "home", without=stage)
    process = started(home, stage)
    os.killpg(process.pid, number)
    (sentence,) = said(process)
    assert process.returncode == 130
    assert sentence.startswith("sm-ops: interrupted; run the same command again")
    assert workers_of(home) == []
    resumed_and_equal(home, finished_home)


def test_two_runs_at_once_share_the_work(finished_home, tmp_path):
    home = copy_home(finished_home, tmp_path / "home", without="base")
    first = begun(start_steps(home), home, "base")
    second = start_steps(home, jobs=1)
    first_err, second_err = (process.communicate(timeout=120)[1] for process in (first, second))
    assert (first.returncode, second.returncode) == (0, 0), first_err + second_err
    waited = [line for line in second_err.splitlines() if "waiting for process" in line]
    assert len(waited) == 1
    assert "(step base), which is making the same result" in waited[0]
    made = [line for line in (first_err + second_err).splitlines() if " base " in line and "found" not in line]
    assert len(made) == 1, "the step was made once"
    resumed_and_equal(home, finished_home)
