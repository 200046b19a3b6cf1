"""Kills and outages while data is versioned and sent: nothing half-recorded, and the same command finishes it."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
import seaweed
from data_runs import ROW, files, make_run
from driving import run_cli, start_cli
from dying import full_from, killed_at

from sm_ops.core import fs
from sm_ops.core.home import all_runs
from sm_ops.versioning.data.verbs import push, remote_problems

pytestmark = pytest.mark.slow
LARGE = 24
"""Files of one MB in the run that is sent."""


def large_run(home: Path):
    many = {("mask", f"c{number}.parquet", "restricted"): secrets.token_bytes(1 << 20) for number in range(LARGE)}
    return make_run(home, {**files(), **many})


def whole(home: Path) -> None:
    """Git is sound, its tree is clean, and each run's tag is its link."""
    data = str(home / "data")
    subprocess.run(["git", "-C", data, "fsck", "--strict"], check=True, capture_output=True)
    assert subprocess.check_output(["git", "-C", data, "status", "--porcelain"], text=True) == ""
    for run in all_runs(home):
        revision = subprocess.check_output(["git", "-C", data, "rev-parse", f"run/{run.id}"], text=True).strip()
        assert run.links()["data"] == revision


def brought_back(home: Path, run: str, out: Path) -> None:
    done = run_cli("data", "checkout", run, "--out", str(out), home=home)
    assert done.returncode == 0, done.stderr
    assert (out / "synthesize" / "train.jsonl").read_bytes() == ROW
    assert len(list(out.rglob("c*.parquet"))) == LARGE


def test_kill_9_at_any_moment(tmp_path):
    home = tmp_path / "home"
    run = large_run(home)
    for moment in range(14):
        process = start_cli("data", "push", home=home)
        time.sleep(0.3 + moment / 10)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if moment % 5 == 4:
            large_run(home)
    done = run_cli("data", "push", home=home)
    assert done.returncode == 0, done.stderr
    whole(home)
    assert remote_problems(home) == []
    brought_back(home, run.id, tmp_path / "out")


def test_dead_before_each_operation_on_a_file(tmp_path):
    """From a version on, every second moment."""
    home, start = tmp_path / "home", tmp_path / "start"
    make_run(start)
    push(start)
    make_run(start, files(ROW + ROW))
    moments = range(0, 400, 2)
    for moment in moments:
        put_back(start, home)
        if not killed_at(lambda: push(home), moment).killed:
            break
        push(home)
        whole(home)
        assert remote_problems(home) == []
    assert moment > 20


def test_a_full_disk_is_told_and_the_same_command_finishes_it(tmp_path):
    home, start = tmp_path / "home", tmp_path / "start"
    make_run(start)
    for moment in range(0, 400, 4):
        put_back(start, home)
        attempt = full_from(lambda: push(home), moment)
        if attempt.exit_code == 0:
            break
        assert attempt.exit_code == 2, attempt
        assert "No space left" in attempt.sentence
        push(home)
        whole(home)
        assert remote_problems(home) == []
    assert moment > 20


def put_back(start: Path, home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(start, home)


def test_two_processes_at_once(tmp_path):
    home = tmp_path / "home"
    large_run(home)
    large_run(home)
    both = [start_cli("data", "push", home=home) for _ in range(2)]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    whole(home)
    assert remote_problems(home) == []


def test_the_s3_server_dies_during_a_push(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    with seaweed.started(tmp_path / "weed") as server:
        for name in ("releases", "locked"):
            server.make_bucket(name, versions=False)
        for name, value in server.variables(seaweed.OPERATOR).items():
            monkeypatch.setenv(name, value)
        assert run_cli("data", "remote", "s3://releases/data", home=home).returncode == 0
        assert run_cli("data", "remote", "--restricted", "s3://locked/data", home=home).returncode == 0
        run = large_run(home)

        def stop() -> None:
            while len(server.client().list_objects_v2(Bucket="locked").get("Contents", ())) < 4:
                time.sleep(0.02)
            os.killpg(server.process.pid, signal.SIGKILL)

        stopper = threading.Thread(target=stop)
        stopper.start()
        done = run_cli("data", "push", home=home)
        stopper.join()
        server.process.wait()
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith("sm-ops: s3://locked/data could not be asked (")
        assert fs.read_json(run.folder / "links.json")["data"]
        whole(home)
    with seaweed.started(tmp_path / "weed") as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        assert remote_problems(home) != []
        done = run_cli("data", "push", home=home)
        assert done.returncode == 0, done.stderr
        assert remote_problems(home) == []
        brought_back(home, run.id, tmp_path / "out")
