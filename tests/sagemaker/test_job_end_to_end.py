"""The very same request as SageMaker would get, carried out here over a real S3 server, interrupted and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import seaweed
from driving import SMALLEST, command, environment, run_cli
from processes import arguments, living

from sm_ops.core import fs

pytestmark = pytest.mark.slow


@pytest.fixture
def home(settled_home, tmp_path, monkeypatch) -> Path:
    """A home with an inventory whose bucket is on a server of the test's own."""
    with seaweed.started(tmp_path / "weed") as server:
        server.make_bucket("jobs")
        for name, value in server.variables(seaweed.OPERATOR).items():
            monkeypatch.setenv(name, value)
        yield settled_home


def fingerprints(path: Path) -> dict[str, str]:
    return {name: step["fingerprint"] for name, step in fs.read_json(path)["steps"].items()}


def in_containers() -> list[int]:
    return [pid for pid in living() if "sm_ops.storage.sagemaker.container" in arguments(pid)]


def test_an_interrupted_job_goes_on_and_ends_as_at_home(home, finished_home, tmp_path):
    submit = ("sagemaker", "submit", str(SMALLEST), "--local", "--execute")
    pipes: Any = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    began = subprocess.Popen(command(*submit), env=environment(home), cwd=tmp_path, **pipes)
    assert began.stderr is not None
    for line in began.stderr:
        if "score@tiny" in line:
            os.kill(began.pid, signal.SIGTERM)
    assert began.wait() == 130
    assert in_containers() == []
    said = json.loads(run_cli("sagemaker", "status", "--json", home=home).stdout)
    assert (said["state"], said["status"]) == ("ended", "Stopped")

    again = run_cli(*submit, home=home)
    assert again.returncode == 0, again.stderr
    assert "score@tiny" in again.stderr
    assert again.stderr.count(" found") >= 5, again.stderr
    done = run_cli("sagemaker", "export", "--out", str(tmp_path / "out"), home=home)
    assert done.returncode == 0, done.stderr
    (there,) = (finished_home / "runs").glob("*/run.json")
    assert fingerprints(tmp_path / "out" / "run.json") == fingerprints(there)
    ours, theirs = (fs.read_json(path.with_name("results.json")) for path in (tmp_path / "out" / "run.json", there))
    timed = ("run", "stages")
    assert {k: v for k, v in ours.items() if k not in timed} == {k: v for k, v in theirs.items() if k not in timed}

    refused = run_cli(*submit, home=home)
    assert (refused.returncode, "[job-done]" in refused.stderr) == (2, True)
    gone = run_cli("sagemaker", "teardown", "--all", "--local", "--execute", "--json", home=home)
    assert {thing["state"] for thing in json.loads(gone.stdout)} == {"removed"}


def test_a_failure_says_a_code_and_no_more(home, tmp_path):
    """An unsuitable rule stops the run with 3; whoever may look at the job reads that."""
    unsuitable = ("--set", "masking.acceptable_collateral=0.001")
    done = run_cli("sagemaker", "submit", str(SMALLEST), "--local", "--execute", *unsuitable, home=home)
    said = json.loads(run_cli("sagemaker", "status", "--json", home=home).stdout)
    assert said["status"] == "Failed", done.stderr
    assert said["failure"].startswith("AlgorithmError: sm-ops ended with exit code 3 [")
    assert said["failure"].endswith("], exit code: 3")
