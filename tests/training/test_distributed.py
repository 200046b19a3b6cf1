"""Several processes that share a training are one process with the same steps, and end together.

A step of one process has microbatches that the processes divide among them, or a microbatch that they split. Masks are
uneven: a mean over each process' own tokens would be another loss.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import several
import torch

from sm_ops.core.errors import InputError, StageError
from sm_ops.training import distributed

HERE = Path(__file__).parent


def assert_equal(found, expected, rel=1e-5, atol=1e-4):
    """The weights up to a hundredth of a step of AdamW, which makes a step of a gradient's rounding error too."""
    for key in ("loss", "grad_norm"):
        assert [step[key] for step in found["log"]] == pytest.approx([step[key] for step in expected["log"]], rel=rel)
    assert [step["labels"] for step in found["log"]] == [step["labels"] for step in expected["log"]]
    torch.testing.assert_close(found["weights"], expected["weights"], atol=atol, rtol=0)


def left(scratch):
    """Processes of a training that still run; a zombie waits for nobody but its parent."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        told = process.info["cmdline"] or []
        if str(scratch) in " ".join(told) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def soon_none(scratch):
    deadline = time.monotonic() + 20
    while left(scratch) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not left(scratch)


def test_two_processes_train_as_one_does(tmp_path):
    """Gloo on the loopback; eleven rows, so that in each pass one process runs out of rows."""
    told = []
    alone = several.fit(tmp_path / "1", 1)
    shared = several.fit(tmp_path / "2", 2, progress=lambda done, total: told.append((done, total)))
    assert_equal(shared, alone)
    assert shared["numbers"] == pytest.approx(alone["numbers"], rel=1e-5)
    assert shared["numbers"]["steps"] == 4 * 3  # eleven rows are six microbatches are three steps
    assert told[-1] == (12, 12)
    assert not list((tmp_path / "2").glob("ranks*"))
    with pytest.raises(InputError, match="is of a training with processes=2 and parallel=ddp") as refused:
        several.fit(tmp_path / "2", 1)
    assert refused.value.code == "other-processes"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HERE))
        return distributed.run(
            several.share, (tmp_path_factory.mktemp("cases"),), 2, "cpu", 1, tmp_path_factory.mktemp("scratch")
        )


@pytest.mark.slow
@pytest.mark.parametrize("case", several.CASES)
def test_each_way_of_sharing_is_one_process(case, shared, tmp_path):
    alone = several.fit(tmp_path, 1, **several.CASES[case])
    half = several.CASES[case].get("dtype") == "bfloat16"
    assert_equal(shared[case], alone, *((0.02, 5e-3) if half else ()))
    assert shared[case]["numbers"] == pytest.approx(alone["numbers"], rel=0.02 if half else 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("case", several.RESUMED)
def test_a_shared_training_goes_on_from_the_middle_of_a_pass(case, shared):
    """To the same bits, as the order of the rows and every process' random numbers are those of its whole run."""
    whole, resumed = shared[f"{case}-whole"], shared[f"{case}-resumed"]
    assert torch.equal(resumed["weights"], whole["weights"])
    assert resumed["numbers"] == whole["numbers"]


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """`train(scratch, ending)`: how it ended, the last line of its output, and of its error output."""

    def run(scratch, ending="nothing"):
        command = [sys.executable, str(HERE / "several.py"), str(scratch), ending]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=240, start_new_session=True
        )
        assert soon_none(scratch)
        return done.returncode, *([*text.splitlines(), ""][-2] if text else "" for text in (done.stdout, done.stderr))

    return run


@pytest.fixture(scope="module")
def uninterrupted(train, tmp_path_factory):
    code, told, _ = train(tmp_path_factory.mktemp("whole"))
    assert code == 0
    return told


@pytest.mark.slow
def test_a_lost_process_ends_all_and_the_same_command_goes_on(train, uninterrupted, tmp_path):
    code, _, told = train(tmp_path, "rank")
    assert code == 1
    assert told.startswith("One of the 2 processes of this training was ended from outside")
    assert several.log(tmp_path)
    assert train(tmp_path)[:2] == (0, uninterrupted)


@pytest.mark.slow
def test_asked_to_leave_all_write_one_checkpoint_and_go_on_from_it(train, uninterrupted, tmp_path):
    assert train(tmp_path, "asked")[0] == -signal.SIGTERM
    (checkpoint,) = tmp_path.glob("checkpoint-*")
    assert len(several.log(tmp_path)) == int(checkpoint.name.rpartition("-")[2]) >= 20
    assert train(tmp_path)[:2] == (0, uninterrupted)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["caller", "group"])
def test_who_kills_the_caller_or_its_group_kills_all(train, ending, tmp_path):
    """`train` looks at what is left."""
    assert train(tmp_path, ending)[0] == -signal.SIGKILL


@pytest.mark.slow
def test_a_failure_of_the_training_is_told_once(tmp_path):
    with pytest.raises(StageError, match="after step 2 of") as told:
        several.fit(tmp_path, 2, learning_rate=float("inf"), warmup_steps=0)
    assert told.value.__cause__ is None
    assert not left(tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_more_processes_than_gpus_are_refused(tmp_path):
    with pytest.raises(InputError, match="Training on 2 processes needs as many GPUs, but this machine has 0"):
        distributed.run(print, (), 2, "cuda", 1, tmp_path)


def test_a_process_of_a_launcher_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="start it alone and set processes"):
        several.fit(tmp_path, 1)
