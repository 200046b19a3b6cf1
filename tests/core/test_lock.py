"""One process makes a result, the others wait; the lock is the operating system's, so a dead holder frees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from driving import environment, wait_for
from toy_stages import HERE, step

from sm_ops.core.execute import execute, identify
from sm_ops.core.store import Store

pytestmark = pytest.mark.unit

HOLD = """
import sys, time; from pathlib import Path; sys.path.insert(0, sys.argv[2])
from toy_stages import step; from sm_ops.core.execute import identify; from sm_ops.core.store import Store
with Store(Path(sys.argv[1])).lock(step(), identify(step(), {})[1], print): print("held", flush=True); time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), str(HERE)],
        stdout=subprocess.PIPE, text=True, env=environment(tmp_path),
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_the_second_waits_says_for_whom_and_goes_on_when_the_holder_is_killed(tmp_path, holder):
    told, outcomes = [], []
    thread = threading.Thread(target=lambda: outcomes.append(execute(step(), {}, Store(tmp_path), waiting=told.append)))
    thread.start()
    wait_for(lambda: told, 10)
    assert told == [f"waiting for process {holder.pid} (step toy), which is making the same result"]
    thread.join(0.3)
    assert not outcomes
    os.kill(holder.pid, signal.SIGKILL)
    thread.join(10)
    assert not outcomes[0].found


def test_other_results_do_not_wait(tmp_path, holder):
    assert not execute(step(text="another"), {}, Store(tmp_path), waiting=pytest.fail).found


def test_a_failure_frees_the_lock_and_forgets_the_holder(tmp_path):
    store = Store(tmp_path)
    print_ = identify(step(), {})[1]
    with pytest.raises(ZeroDivisionError), store.lock(step(), print_, pytest.fail):
        raise ZeroDivisionError
    with store.lock(step(), print_, pytest.fail):
        assert len(list((tmp_path / "locks").glob("*.holder"))) == 1
    assert not list((tmp_path / "locks").glob("*.holder"))
