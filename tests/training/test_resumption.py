"""A run that was killed, or asked to leave, resumes to the same bytes as the uninterrupted one (CPU)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    script = Path(__file__).with_name("kill_and_resume.py")
    command = [sys.executable, str(script), str(tmp_path_factory.mktemp("resume"))]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("method", "kill", "left"),
    [
        ("continue", "between", ["checkpoint-16"]),
        ("continue", "writing", ["checkpoint-16", "checkpoint-8"]),
        ("continue", "written", ["checkpoint-16", "checkpoint-8"]),
        ("scratch", "between", ["checkpoint-16"]),
        ("lora", "between", ["checkpoint-16"]),
        ("lora", "writing", ["checkpoint-16", "checkpoint-8"]),
        ("clip", "between", ["checkpoint-16"]),
        ("both", "between", ["checkpoint-16"]),
        ("rounds", "between", ["checkpoint-15", "checkpoint-8"]),
        ("rounds", "finished", ["checkpoint-15", "checkpoint-15"]),
        ("cut", "finished", ["checkpoint-27"]),
        ("mixed", "between", ["checkpoint-16"]),
        ("continue", "asked", ["checkpoint-10"]),
        ("lora", "asked", ["checkpoint-10"]),
    ],
)
def test_killed_and_resumed_is_uninterrupted(found, method, kill, left):
    killed = found[method]["kills"][kill]
    assert killed["signal"] == (signal.SIGTERM if kill == "asked" else signal.SIGKILL)
    assert killed["left"] == left
    assert killed["hash"] == found[method]["hash"]
    assert killed["numbers"] == found[method]["numbers"]
    assert killed["numbers"]["steps"] == (27 if method == "cut" else 30)


def test_the_mean_multiplier_counts_what_was_before_the_kill(found):
    numbers = found["clip"]["kills"]["between"]["numbers"]
    assert numbers["weakened_microbatches"] == 60
    assert 0 < numbers["mean_multiplier"] < 1


def test_the_methods_end_at_different_weights(found):
    assert len({found[method]["hash"] for method in found}) == 8
