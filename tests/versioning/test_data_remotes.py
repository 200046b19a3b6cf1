"""Data on an S3 server, DVC's own commands over the same repository, and what a run says when something is away."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from data_runs import PUBLIC, ROW, holding, make_run
from driving import SMALLEST, copy_home, run_cli
from moto.server import ThreadedMotoServer

from sm_ops.core import fs
from sm_ops.versioning.data import places
from sm_ops.versioning.data.verbs import remote_problems


@pytest.fixture
def buckets(monkeypatch) -> Iterator[object]:
    """Two buckets of a server on loopback, found by its variables alone."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/moto-api/reset", method="POST")).close()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "only-in-tests",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(places, "PAUSES", (0.01,))
    client = boto3.client("s3")
    for name in ("shared", "secret"):
        client.create_bucket(Bucket=name)
    yield client
    server.stop()


def keys(client, bucket: str) -> list[str]:
    return [each["Key"] for each in client.list_objects_v2(Bucket=bucket).get("Contents", ())]


def test_data_on_s3_comes_back_on_another_machine(home, sm_ops, buckets, tmp_path, monkeypatch):
    run = make_run(home)
    sm_ops("data", "remote", "s3://shared/team/")
    sm_ops("data", "remote", "--restricted", "s3://secret/team")
    sm_ops("data", "push")
    assert len(keys(buckets, "shared")) == 3
    (restricted,) = [key for key in keys(buckets, "secret") if "files/md5" in key]
    assert buckets.get_object(Bucket="secret", Key=restricted)["Body"].read() == ROW
    assert remote_problems(home) == []

    other = tmp_path / "other"
    subprocess.run(["git", "clone", "-q", str(home / "data"), str(other / "data")], check=True)
    monkeypatch.setenv("SM_OPS_HOME", str(other))
    out = sm_ops("data", "checkout", run.id, "--out", str(tmp_path / "out")).stdout.splitlines()
    assert {Path(path).name: Path(path).read_bytes() for path in out}["train.jsonl"] == ROW

    buckets.delete_object(Bucket="secret", Key=restricted)
    (problem,) = remote_problems(home)
    assert problem.startswith("the remote restricted lacks 1 of 1 data files (small/synthesize/train.jsonl)")
    assert "1 files sent" in sm_ops("data", "push").stderr
    done = sm_ops("data", "remote", "--restricted", "s3://absent/team", code=2)
    assert "There is no bucket for s3://absent/team" in done.stderr
    done = sm_ops("data", "remote", "s3://secret/team", code=2)
    assert "lie in one another" in done.stderr
    sm_ops("data", "remote", "--restricted", str(tmp_path / "local"))
    done = sm_ops("data", "remote", "s3://secret/team", code=2)
    assert "marked as the remote restricted, not default" in done.stderr


@pytest.mark.slow
def test_s3_away_is_one_sentence_and_nothing_is_half_recorded(home, sm_ops, buckets, monkeypatch):
    sm_ops("data", "remote", "s3://shared/team")
    run, there = make_run(home), os.environ["AWS_ENDPOINT_URL"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        away = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", away)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    done = sm_ops("data", "push", code=2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("sm-ops: s3://shared/team could not be asked (")
    assert line.endswith("then run the same command again. [s3-unreachable]")
    assert run.links()["data"], "the version stands, and is sent later"
    assert holding(home / "restricted" / "data-remote", ROW), "the other remote has its data"
    monkeypatch.setenv("AWS_ENDPOINT_URL", there)
    assert "2 files sent" in sm_ops("data", "push").stderr
    assert len(keys(buckets, "shared")) == 3


@pytest.mark.slow
def test_dvc_itself_reads_the_repository_and_keeps_classes_apart(home, sm_ops):
    """By hand `dvc push -r default` sends nothing restricted; `dvc pull` brings all."""
    make_run(home)
    sm_ops("data", "push")
    for remote in (home / "data-remote" / "files", home / "restricted" / "data-remote" / "files"):
        shutil.rmtree(remote)

    def dvc(*arguments: str) -> str:
        words = [sys.executable, "-m", "dvc", *arguments]
        return subprocess.check_output(words, cwd=home / "data", text=True, stderr=subprocess.STDOUT)

    dvc("push", "-r", "default")
    assert holding(home / "data-remote", PUBLIC)
    assert holding(home / "data-remote", ROW) + holding(home / "restricted" / "data-remote", ROW) == []
    dvc("push")
    shutil.rmtree(home / "restricted" / "data-cache")
    dvc("pull")
    assert (home / "data" / "small" / "synthesize" / "train.jsonl").read_bytes() == ROW
    assert subprocess.check_output(["git", "-C", str(home / "data"), "status", "--porcelain"], text=True) == ""


def test_a_run_whose_data_cannot_be_versioned_is_still_a_run(finished_home, tmp_path):
    """Its data is versioned by hand later, and a second run does it too."""
    home = copy_home(finished_home, tmp_path / "home")
    shutil.rmtree(home / "data")
    home.joinpath("data").write_text("in the way")
    done = run_cli("run", str(SMALLEST), "--jobs", "1", home=home)
    assert done.returncode == 0, done.stderr
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("sm-ops: ")]
    assert str(home / "data") in sentence
    assert sentence.endswith("The run stands; later: sm-ops data push [os-error]")
    home.joinpath("data").unlink()
    (run,) = (home / "runs").iterdir()
    assert not (run / "links.json").exists() or fs.read_json(run / "links.json")["data"] is None
    assert run_cli("data", "push", home=home).stdout == f"{run.name}\n"
    assert fs.read_json(run / "links.json")["data"]
