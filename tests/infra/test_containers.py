"""The images are built and run as the compose file runs them, and the stack of it does its work behind locked doors.

Needs Podman, Buildah and a base image (`engine.py`); the first time minutes, then what was made is found.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from driving import ROOT, SMALLEST
from engine import Engine, compose

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
WORKER = "localhost/sm-ops/worker:test-cpu"
LOCKED = ["--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Engine:
    return Engine(tmp_path_factory.mktemp("engine"))


@pytest.fixture(scope="module")
def worker(engine) -> str:
    return engine.build("worker.Containerfile", WORKER, "EXTRAS=", target="cpu")


def test_the_worker_runs_a_pipeline_locked_in(engine, worker):
    """As a user of its own, without network or capabilities, over a root file system that nobody can write to."""
    said = engine.run(
        *("podman", "run", "--rm", "--interactive", *LOCKED, "--volume=/home/sm-ops", worker),
        *(
            "sh",
            "-c",
            "id -u && ! touch /opt/sm-ops/x 2> /dev/null && cat > ~/smallest.yaml && sm-ops run ~/smallest.yaml",
        ),
        stdin=SMALLEST.read_text(),
    )
    assert said.splitlines()[0] == "10001"
    assert "report: /home/sm-ops/home/runs/smallest-" in said


def test_an_image_holds_what_was_named_and_no_more(engine, worker):
    listed = engine.run("podman", "run", "--rm", *LOCKED, worker, "ls", "-A", "/opt/sm-ops", "/home/sm-ops").split()
    code = {"LICENSE", "README.md", "configs", "constraints.txt", "flows", "pyproject.toml", "sm_ops"}
    assert set(listed) == {"/home/sm-ops:", "/opt/sm-ops:", *code}


@pytest.fixture(scope="module")
def stack(engine, worker, tmp_path_factory):
    """The compose file, all of it, until everything is healthy."""
    folder = tmp_path_factory.mktemp("stack")
    base = engine.base()
    if os.environ.get("SM_OPS_TEST_BASE"):
        postgres = "docker.io/library/postgres:17.6-bookworm"
    else:
        postgres = "localhost/sm-ops/postgres:test"
        here = str(ROOT / "tests" / "infra" / "postgres")
        engine.run(
            "buildah", "bud", "--isolation=chroot", "--layers", f"--build-arg=BASE={base}", "--tag", postgres, here
        )
    server = engine.build("server.Containerfile", "localhost/sm-ops/server:test")
    images = {"postgres": postgres, "deploy": worker, "worker": worker}
    images |= dict.fromkeys(("s3", "prefect", "mlflow", "prepare"), server)
    chosen = folder / "images.json"
    chosen.write_text(json.dumps({"services": {name: {"image": image} for name, image in images.items()}}))

    secrets = folder / "secrets"
    subprocess.run(
        [sys.executable, str(ROOT / "infra" / "make_secrets.py"), str(secrets)], check=True, capture_output=True
    )
    ports = {"SM_OPS_PREFECT_PORT": free_port(), "SM_OPS_MLFLOW_PORT": free_port()}
    project = f"sm-ops-test-{os.getpid()}"
    files = (ROOT / "infra" / "compose.yaml", chosen)
    with compose(engine, folder, project, *files, SM_OPS_SECRETS=str(secrets), **ports) as command:
        engine.run(*command, "up", "--detach", "--no-build", "--pull", "never")
        yield SimpleNamespace(command=command, project=project, ports=ports, secrets=secrets)


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def inside(engine: Engine, stack: SimpleNamespace, program: str, *, stdin: str = "") -> str:
    """Run Python in the worker's container, with the secrets that the worker has."""
    container = f"{stack.project}-worker-1"
    return engine.run(
        "podman", "exec", "--interactive", container, "with_secrets.sh", "python", "-c", program, stdin=stdin
    )


RUN = """
import sys
from pathlib import Path
from prefect.deployments import run_deployment
configs = Path.home() / "home" / "configs"
configs.mkdir(parents=True, exist_ok=True)
(configs / "smallest.yaml").write_text(sys.stdin.read())
run = run_deployment("surprise/on-demand", parameters={"config": "smallest"}, timeout=600, as_subflow=False)
print(run.state.type.value, run.state.message)
"""


def test_a_flow_runs_in_the_stack(engine, stack):
    last = inside(engine, stack, RUN, stdin=SMALLEST.read_text()).splitlines()[-1]
    assert last.startswith("COMPLETED run smallest-")


DOORS = """
import boto3, json, socket
from botocore.exceptions import ClientError

def knock(host, port, words=b""):
    try:
        with socket.create_connection((host, port), 5) as door:
            door.settimeout(3)
            door.sendall(words)
            return "silent" if not words else door.recv(1)[:1].hex()
    except TimeoutError:
        return "no answer"
    except OSError as error:
        return type(error).__name__

def may(action, **what):
    try:
        action(**what)
        return True
    except ClientError as error:
        return error.response["Error"]["Code"]

s3 = boto3.client("s3")
buckets = ("dvc", "dvc-restricted", "releases", "mlflow")
http2 = b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes(3) + b"\\x04" + bytes(5)
print(json.dumps({
    "write": {bucket: may(s3.put_object, Bucket=bucket, Key="x", Body=b"1") for bucket in buckets},
    "make": may(s3.create_bucket, Bucket="mine"),
    "behind": [knock("s3", port) for port in (8888, 9333, 8080, 18888, 19333, 18080)],
    "gateway": knock("s3", 18333, http2),
    "outside": knock("192.0.2.1", 443),
}))
"""


def test_a_worker_reaches_what_it_needs_and_no_more(engine, stack):
    found = json.loads(inside(engine, stack, DOORS))
    assert found["write"] == {"dvc": True, "dvc-restricted": True, "releases": True, "mlflow": "AccessDenied"}
    assert found["make"] == "AccessDenied"
    assert set(found["behind"]) == {"ConnectionRefusedError"}
    assert found["gateway"] in {"", "15", "ConnectionResetError"}, (
        "gRPC without a certificate: anybody makes administrators"
    )
    assert found["outside"] == "OSError"


TRACK = """
import mlflow
mlflow.set_experiment("tried")
with mlflow.start_run() as run:
    mlflow.log_text("kept", "note.txt")
print(mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/note.txt"))
"""


def test_artifacts_go_through_mlflow_to_s3(engine, stack):
    assert "kept" in inside(engine, stack, TRACK).splitlines()


def status(url: str) -> int:
    try:
        with urlopen(url, timeout=10) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def test_nobody_is_let_in_without_a_password(stack):
    prefect, mlflow = (f"http://127.0.0.1:{port}" for port in stack.ports.values())
    assert [status(f"{prefect}/api/{path}") for path in ("flows/count", "admin/settings", "deployments/name/a/b")] == [
        401
    ] * 3
    assert [status(f"{mlflow}/{path}") for path in ("", "api/2.0/mlflow/experiments/search", "graphql")] == [401] * 3


def test_no_secret_is_to_be_seen(engine, stack):
    """Neither in what the engine tells of the containers nor in argument lists or logs."""
    names = engine.run("podman", "ps", "--all", "--format={{.Names}}", f"--filter=name={stack.project}").split()
    seen = engine.run("podman", "inspect", *names)
    seen += "".join(Path(f"/proc/{pid}/cmdline").read_text(errors="replace") for pid in processes())
    for name in names:
        done = subprocess.run(
            ["podman", "logs", name], env=engine.environment, capture_output=True, text=True, check=True
        )
        seen += done.stdout + done.stderr
    assert len(names) == 7
    kept = {path.name: path.read_text() for path in stack.secrets.iterdir() if path.name != "s3_identities.json"}
    assert [name for name, value in kept.items() if value.removeprefix("admin:") in seen] == []


def processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and (path / "cmdline").exists()]


def test_data_and_secrets_outlive_the_containers(engine, stack):
    """Down and up again: the same databases, buckets and runs, and nothing asks for another password."""
    engine.run(*stack.command, "down", "--timeout", "30")
    engine.run(*stack.command, "up", "--detach", "--no-build", "--pull", "never")
    end = time.monotonic() + 60
    while status(f"http://127.0.0.1:{stack.ports['SM_OPS_MLFLOW_PORT']}/health") != 200:
        assert time.monotonic() < end
        time.sleep(0.5)
    listed = "import mlflow; print(mlflow.get_experiment_by_name('tried').name, mlflow.search_runs().shape[0])"
    assert "tried" in inside(engine, stack, listed)
