"""Real servers: one that dies in the middle of a transfer, and one for a team, with PostgreSQL, S3 and passwords."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest
from driving import environment, run_cli, start_cli

sys.path.append(str(Path(__file__).resolve().parents[1] / "stack"))

import running_stack

from sm_ops.core.home import find_run
from sm_ops.stack import client as stack
from sm_ops.tracking import releases
from sm_ops.tracking.server import connected

pytestmark = pytest.mark.slow
ROWS = {"base", "unmasked", "oracle", "SM95", "random95"}
POSTGRES = shutil.which("postgres", path=os.pathsep.join(map(str, Path("/usr/lib/postgresql").glob("*/bin"))))


@contextmanager
def serving(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """An MLflow server over an SQLite file, in a process group of its own."""
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder}/server.db", "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    changed = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    log = (folder / "server.log").open("ab")
    process = subprocess.Popen(command, env=changed, stdout=log, stderr=log, start_new_session=True)
    try:
        answer = build_opener(ProxyHandler({}))
        for _ in range(600):
            try:
                answer.open(f"http://127.0.0.1:{port}/health", timeout=2)
                break
            except OSError:
                assert process.poll() is None, (folder / "server.log").read_text()
                time.sleep(0.2)
        yield process
    finally:
        kill(process)
        log.close()


def kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def sent_runs(folder: Path) -> list[tuple[str, str]]:
    """Name and status of the runs that the server has and that nobody deleted."""
    with closing(sqlite3.connect(folder / "server.db")) as connection:
        return connection.execute("SELECT name, status FROM runs WHERE lifecycle_stage = 'active'").fetchall()


def test_a_server_killed_in_the_middle_gets_the_run_whole_later(
    tiny: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    with serving(tmp_path, port) as server:
        begun = start_cli("track", "push", home=tiny.home)
        for _ in range(3000):
            if len(sent_runs(tmp_path)) >= 3:  # of the six that make one
                break
            time.sleep(0.01)
        kill(server)
        _, told = begun.communicate(timeout=90)
    assert begun.returncode == 2, told
    assert "is whole, but was not tracked: the tracking server does not answer" in told
    assert "sm-ops track push" in told
    assert "Traceback" not in told
    assert (tiny.run.id, "FINISHED") not in sent_runs(tmp_path)
    facts = releases.Facts("notes", "1", "published", "0" * 64, tiny.run.id)
    with serving(tmp_path, port):
        done = run_cli("track", "push", home=tiny.home)
        again = run_cli("track", "push", home=tiny.home)
        mirrored = releases.mirror([facts], tiny.home)
        with connected(tiny.home) as client:
            version = client.get_model_version_by_alias("release-notes", "published")
    assert done.stdout.split() == [tiny.run.id], done.stderr
    assert again.stdout == ""
    assert sorted(sent_runs(tmp_path)) == sorted((name, "FINISHED") for name in {tiny.run.id, *ROWS})
    assert mirrored == ["notes@1"]
    assert version.tags == facts.tags
    assert version.run_id in tiny.run.links()["mlflow"].values()


@pytest.mark.skipif(POSTGRES is None, reason="no PostgreSQL server is installed")
@pytest.mark.skipif(shutil.which("weed", path=f"{sys.prefix}/bin") is None, reason="no S3 server (weed) is installed")
def test_a_team_shares_runs_in_postgres_and_s3_behind_passwords(made: Path) -> None:
    with running_stack.open_home() as home:
        shutil.copytree(made, home)
        server = running_stack.start(home, "--postgres", "--s3")
        variables = stack.read(home)
        sent = run_cli("track", "push", home=home)
        assert sent.stdout.split() == [find_run(home).id], sent.stderr
        facts = look(home, variables)
        assert facts["names"] == sorted([find_run(home).id, *ROWS])
        assert facts["metrics"]["extraction_approx/unmasked"] == pytest.approx(4 / 6)
        assert facts["report_equal"]
        assert facts["where"].startswith("mlflow-artifacts:")
        assert any(key.endswith("/report.html") for key in facts["objects"])  # the server keeps them in S3
        assert facts["anonymous"] == facts["wrong"] == 401

        mina = {"MLFLOW_TRACKING_USERNAME": "mina", "MLFLOW_TRACKING_PASSWORD": secrets.token_hex(12)}
        of_mina = variables | mina
        grant(variables, mina)
        (find_run(home).folder / "links.json").unlink()
        refused = push_as(home, of_mina)
        assert refused.returncode == 2
        assert "does not let this user into experiment sm-ops" in refused.stderr
        assert not any(secret in refused.stderr for secret in (*mina.values(), variables["MLFLOW_TRACKING_URI"]))
        grant(variables, mina, "EDIT")
        assert push_as(home, of_mina).returncode == 0
        assert running_stack.end(server) == 0


LOOK = """
import json, os, sys
from pathlib import Path
import boto3
from mlflow import MlflowClient
from urllib.request import ProxyHandler, Request, build_opener
from urllib.error import HTTPError
import base64

def status(user=None):
    request = Request(os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/experiments/get?experiment_id=1")
    if user:
        request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
    try:
        return build_opener(ProxyHandler({})).open(request).status
    except HTTPError as error:
        return error.code

client = MlflowClient()
experiment = client.get_experiment_by_name("sm-ops")
runs = client.search_runs([experiment.experiment_id])
parent = next(run for run in runs if "mlflow.parentRunId" not in run.data.tags)
report = Path(client.download_artifacts(parent.info.run_id, "report.html")).read_bytes()
store = boto3.client("s3")
buckets = [bucket["Name"] for bucket in store.list_buckets()["Buckets"]]
print(json.dumps({
    "names": sorted(run.info.run_name for run in runs),
    "metrics": parent.data.metrics,
    "where": parent.info.artifact_uri,
    "report_equal": report == Path(sys.argv[1]).read_bytes(),
    "objects": [o["Key"] for b in buckets for o in store.list_objects_v2(Bucket=b).get("Contents", [])],
    "anonymous": status(),
    "wrong": status("admin:no"),
}))
"""
GRANT = """
import os, sys
from mlflow import MlflowClient
from mlflow.server import get_app_client

people = get_app_client("basic-auth", os.environ["MLFLOW_TRACKING_URI"])
user, permission = os.environ["NEW_USER"], sys.argv[1]
if permission == "none":
    people.create_user(user, os.environ["NEW_PASSWORD"])
else:
    experiment = MlflowClient().get_experiment_by_name("sm-ops").experiment_id
    people.grant_user_permission(user, "experiment", experiment, permission)
"""


def look(home: Path, variables: dict[str, str]) -> dict[str, Any]:
    """What the servers hold, asked in a process that has the variables of a client."""
    return json.loads(python(LOOK, variables, str(find_run(home).folder / "report.html")))


def grant(variables: dict[str, str], user: dict[str, str], permission: str = "none") -> None:
    names = {"NEW_USER": user["MLFLOW_TRACKING_USERNAME"], "NEW_PASSWORD": user["MLFLOW_TRACKING_PASSWORD"]}
    python(GRANT, variables | names, permission)


def python(script: str, variables: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def push_as(home: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "sm_ops.cli", "track", "push"]
    changed = {**environment(home), **variables}
    return subprocess.run(command, env=changed, cwd=home.parent, capture_output=True, text=True, timeout=180)
