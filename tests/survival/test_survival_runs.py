"""A deployed run is cut short in the middle of its training: the server knows, nothing is left, the next run finishes.

Workers and a Prefect server alone; what a stack's supervisor does beside them is in test_survival_stack.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import seaweed
from deployed_runs import (
    FINAL,
    again_and_equal,
    begin,
    checkpoints,
    ends,
    flow_processes,
    kill,
    message,
    nothing_left,
    of_run,
    prefect_worker,
    state,
    training,
    under_way,
    undisturbed,
    untrained,
    whole_and_equal,
)
from driving import run_cli, wait_for
from prefect_server import PrefectServer, prefect_server
from processes import arguments

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("survival")]

SILENCE = 40
"""Seconds without a heartbeat until a run is crashed, here: half of the deployed ones."""
SOONER = (
    f"import sys; from flows import _deployments; _deployments.SILENCE = {SILENCE}; "
    "from flows.deploy import main; sys.exit(main(['apply', sys.argv[1]]))"
)
OTHERWISE_NEVER = {"tune.checkpoint_steps": 1000}
"""No checkpoint is written but by who leaves."""
GPU = """
import os
from pathlib import Path
if "PREFECT__FLOW_RUN_ID" in os.environ:
    from sm_ops.core import exclusive
    exclusive.gpus = lambda: [Path(__file__).with_name("nvidia0")]
"""
"""A module `sitecustomize`, by which the processes of runs find a GPU beside it."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed(tmp_path_factory.mktemp("source") / "undisturbed")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    folder = tmp_path_factory.mktemp("survival")
    with prefect_server(folder, folder / "home") as started:
        deploy(started)
        yield started


def deploy(server: PrefectServer, at_a_time: int = 1, schedules: str = "") -> None:
    file = server.folder / "deployments.yaml"
    file.write_text(f"format: deployments/1\npools: {{default: {{concurrency: {at_a_time}}}}}\n{schedules}")
    subprocess.run([sys.executable, "-c", SOONER, str(file)], env=server.environment, check=True, capture_output=True)


@pytest.fixture
def home(source: Path, server: PrefectServer, tmp_path: Path) -> Iterator[Path]:
    """Where the training is still to be done, and from where no worker is left to the next test."""
    yield untrained(source, tmp_path / "home")
    server.kill_workers()


def worker(server: PrefectServer, home: Path, **variables: str) -> subprocess.Popen[bytes]:
    """The worker that a stack starts."""
    with (server.folder / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "flows.worker", "--pool", "default"],
            env=server.environment | {"SM_OPS_HOME": str(home)} | variables,
            cwd=server.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip


def said(server: PrefectServer) -> list[str]:
    """What runs have told in the worker's log."""
    lines = (server.folder / "worker.log").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("sm-ops:")]


def test_the_flow_process_is_killed(server: PrefectServer, home: Path, source: Path) -> None:
    worker(server, home)
    run = under_way(server, home)
    kill(*flow_processes(home))
    assert ends(server, run, 30) == "Crashed"
    nothing_left(server, home)
    again_and_equal(server, home, source)


def test_the_worker_is_asked_to_end(server: PrefectServer, home: Path, source: Path) -> None:
    process = worker(server, home)
    run = begin(server, **OTHERWISE_NEVER)
    wait_for(lambda: training(home), 150)
    process.terminate()
    assert process.wait(timeout=60) == 0
    assert of_run(home) == []
    assert state(server, run) == "Crashed"
    assert checkpoints(home), "the training has written one"
    worker(server, home)
    again_and_equal(server, home, source)


def test_prefect_s_worker_is_killed_below_ours(server: PrefectServer, home: Path, source: Path) -> None:
    process = worker(server, home)
    run = under_way(server, home)
    kill(prefect_worker(home))
    assert process.wait(timeout=60) != 0, "for a supervisor to start it again"
    assert state(server, run) == "Crashed"
    nothing_left(server, home)
    worker(server, home)
    again_and_equal(server, home, source)


def test_a_worker_of_prefect_alone_is_killed(server: PrefectServer, home: Path, source: Path) -> None:
    process = server.worker("default", SM_OPS_HOME=str(home))
    run = under_way(server, home)
    process.kill()
    process.wait()
    assert ends(server, run, 40) == "Crashed"
    assert message(server, run) == "Execution was aborted by a termination signal."
    nothing_left(server, home)
    worker(server, home)
    again_and_equal(server, home, source)


def test_the_machine_is_lost(server: PrefectServer, home: Path, source: Path) -> None:
    worker(server, home)
    run = under_way(server, home)
    server.kill_workers()
    wait_for(lambda: not of_run(home), 20)
    assert state(server, run) == "Running", "nobody could tell"
    assert ends(server, run, SILENCE + 80) == "Crashed"
    assert message(server, run).startswith(f"No heartbeat for {SILENCE} seconds")
    worker(server, home)
    again_and_equal(server, home, source)


def test_the_server_is_killed_and_started_again(server: PrefectServer, home: Path, source: Path) -> None:
    worker(server, home)
    run = under_way(server, home)
    os.killpg(server.processes[0].pid, signal.SIGKILL)
    server.processes.pop(0).wait()
    server.start()
    server.processes.insert(0, server.processes.pop())  # which `kill_workers` leaves alone
    wait_for(lambda: state(server, run) == "Completed", 180)  # it may have been silent for too long meanwhile
    whole_and_equal(server, run, home, source)


def test_a_run_on_two_processes_is_cancelled(server: PrefectServer, home: Path, source: Path) -> None:
    worker(server, home)
    run = begin(server, **{"tune.processes": 2})
    wait_for(lambda: len(ranks(home)) == 2, 150)
    server.post(f"flow_runs/{run}/set_state", {"state": {"type": "CANCELLING"}, "force": True})
    assert ends(server, run, 60) == "Cancelled"
    nothing_left(server, home)
    again_and_equal(server, home, source)


def ranks(home: Path) -> list[int]:
    return [pid for pid in of_run(home) if "sm_ops.training.distributed" in arguments(pid)]


def test_mlflow_is_away_and_is_told_later(server: PrefectServer, home: Path, source: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    worker(server, home, MLFLOW_TRACKING_URI=address)
    run = begin(server)
    whole_and_equal(server, run, home, source)
    (told,) = [line for line in said(server) if "sm-ops track push" in line]
    assert "Traceback" not in told
    words = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    places = ["--backend-store-uri", f"sqlite:///{tmp_path}/m.db", "--artifacts-destination", str(tmp_path / "files")]
    mlflow = subprocess.Popen(
        [sys.executable, "-m", "mlflow", *words, *places],
        env=server.environment | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(lambda: listens(port), 120)
        os.environ["MLFLOW_TRACKING_URI"] = address
        done = run_cli("track", "push", home=home)
        again = run_cli("track", "push", home=home)
    finally:
        del os.environ["MLFLOW_TRACKING_URI"]
        os.killpg(mlflow.pid, signal.SIGKILL)
        mlflow.wait()
    assert done.returncode == again.returncode == 0, done.stderr
    assert "1 runs sent" in done.stderr
    assert "0 runs sent" in again.stderr


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def test_s3_is_away_at_the_end_and_gets_the_data_later(
    server: PrefectServer, home: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seaweed.started(tmp_path / "weed") as s3:
        for bucket in ("releases", "locked"):
            s3.make_bucket(bucket, versions=False)
        for name, value in s3.variables(seaweed.OPERATOR).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
        assert run_cli("data", "remote", "s3://releases/data", home=home).returncode == 0
        assert run_cli("data", "remote", "--restricted", "s3://locked/data", home=home).returncode == 0
        worker(server, home, **s3.variables(seaweed.OPERATOR), AWS_MAX_ATTEMPTS="2")
        run = under_way(server, home)
    whole_and_equal(server, run, home, source)
    (told,) = [line for line in said(server) if "sm-ops data push" in line]
    assert told.startswith("sm-ops: the run's data: s3://")
    with seaweed.started(tmp_path / "weed") as s3:
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
        done = run_cli("data", "push", home=home)
        assert done.returncode == 0, done.stderr
        assert s3.client().list_objects_v2(Bucket="locked")["KeyCount"] > 1
        again = run_cli("data", "push", home=home)
        assert again.stderr.startswith("0 "), again.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a disk of a chosen size needs root and mount")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def test_the_disk_is_full(server: PrefectServer, source: Path, small_disk: Path) -> None:
    home = untrained(source, small_disk / "home")
    try:
        worker(server, home)
        run = under_way(server, home)
        rest = small_disk / "rest"
        with suppress(OSError), rest.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        assert ends(server, run, 120) == "Failed"
        assert message(server, run).startswith("No space left on device")
        nothing_left(server, home)
        rest.unlink()
        again_and_equal(server, home, source)
    finally:
        server.kill_workers()


def test_a_run_waits_for_the_gpu_until_the_one_that_has_it_is_killed(
    server: PrefectServer, home: Path, source: Path, tmp_path: Path
) -> None:
    deploy(server, at_a_time=2)
    (tmp_path / "gpu").mkdir()
    (tmp_path / "gpu" / "nvidia0").touch()
    (tmp_path / "gpu" / "sitecustomize.py").write_text(GPU)
    path = f"{tmp_path / 'gpu'}{os.pathsep}{server.environment['PYTHONPATH']}"
    worker(server, home, PYTHONPATH=path)
    first = under_way(server, home, **{"tune.epochs": 400})
    (holder,) = flow_processes(home)
    second = begin(server)
    wait_for(lambda: state(server, second) in ("Waiting for a GPU", *FINAL), 60)
    assert message(server, second) == f"waiting for process {holder}, which runs on nvidia0"
    kill(holder)
    whole_and_equal(server, second, home, source)
    assert state(server, first) == "Crashed"
    deploy(server)


def test_nights_on_which_clocks_change_have_one_run_each(server: PrefectServer) -> None:
    """The server's own plan: half past two is left out on one night, and comes twice on another."""
    deploy(
        server,
        schedules="schedules:\n  nightly: {flow: pii, config: pii_tiny, cron: '30 2 * * *', "
        "timezone: Europe/Berlin, pool: default}\n",
    )
    found = server.get("deployments/name/pii/nightly")
    for first, last in (("2027-03-27", "2027-03-30"), ("2027-10-30", "2027-11-02")):
        times = {"start_time": f"{first}T00:00:00Z", "end_time": f"{last}T00:00:00Z"}
        server.post(f"deployments/{found['id']}/schedule", {**times, "max_runs": 10, "min_runs": 3})
    planned = [run["expected_start_time"] for run in server.runs("pii/nightly")]
    at = {day: [time[11:16] for time in planned if time.startswith(day)] for day in (
        "2027-03-27", "2027-03-28", "2027-03-29", "2027-10-30", "2027-10-31", "2027-11-01",
    )}  # fmt: skip
    assert at == {
        "2027-03-27": ["01:30"], "2027-03-28": ["01:30"], "2027-03-29": ["00:30"],
        "2027-10-30": ["00:30"], "2027-10-31": ["00:30"], "2027-11-01": ["01:30"],
    }  # fmt: skip
    deploy(server)
