"""The stack in SQLite with real servers: ready, closed to strangers, silent about secrets, repaired, saved, ended."""

from __future__ import annotations

import configparser
import glob
import os
import signal

import psutil
import pytest
from driving import run_cli, start_cli, wait_for
from running_stack import (
    Servers,
    ask,
    assert_secrets_stay,
    client,
    end,
    is_there,
    leave_something,
    open_home,
    processes_of,
    runs_again,
    start,
    status,
)

from sm_ops.vault import Vault

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stack():
    with open_home() as home:
        process = start(home, "--dev")
        yield home, process
        process.kill()


def test_every_service_answers_and_schedules_are_registered(stack):
    home, _ = stack
    found = status(home)
    assert {name: row["state"] for name, row in found.items()} == dict.fromkeys(
        ("prefect-server", "mlflow", "prefect-worker-default"), "RUNNING"
    )
    assert all(row["since"] and psutil.pid_exists(row["pid"]) for row in found.values())
    assert "nightly" in {row["name"] for row in Servers(home).prefect("deployments/filter", {})}


def test_strangers_are_refused(stack):
    home, _ = stack
    known = client(home)
    prefect, mlflow = known["PREFECT_API_URL"], known["MLFLOW_TRACKING_URI"]
    for auth in (None, "admin:", "admin:wrong"):
        assert ask(f"{prefect}/flow_runs/filter", auth, {})[0] == 401
        assert ask(f"{mlflow}/api/2.0/mlflow/experiments/search?max_results=1", auth)[0] == 401
        assert ask(f"{mlflow}/api/2.0/mlflow-artifacts/artifacts", auth)[0] == 401


def test_only_loopback_is_listened_on(stack):
    home, _ = stack
    addresses = {
        connection.laddr.ip
        for pid in processes_of(home)
        for connection in psutil.Process(pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}


def test_secrets_stay_where_they_are(stack):
    assert_secrets_stay(stack[0])


def test_a_second_one_is_refused_and_names_the_first(stack):
    home, process = stack
    done = run_cli("serve", "--dev", home=home)
    assert done.returncode == 2
    (supervisor,) = psutil.Process(process.pid).children()
    assert f"process {supervisor.pid}" in done.stderr


@pytest.mark.parametrize("whom", ["server", "holder"])
def test_a_server_that_dies_is_started_again_once(stack, whom):
    home, _ = stack
    server = status(home)["mlflow"]["pid"]
    os.kill(server if whom == "server" else psutil.Process(server).ppid(), signal.SIGKILL)
    runs_again(home, "mlflow", server)
    assert Servers(home).mlflow("experiments/search?max_results=1")
    assert len([pid for pid in processes_of(home) if "uvicorn" in psutil.Process(pid).cmdline()]) == 1


def test_a_backup_of_the_running_stack_is_restored_elsewhere_under_other_passwords(stack, tmp_path, monkeypatch):
    home, _ = stack
    leave_something(Servers(home), "kept")
    vault = Vault(home / "vault")
    vault.init()
    vault.add_values("names", [("PERSON", "Zebulon")])
    assert run_cli("serve", "backup", str(tmp_path / "saved"), home=home).returncode == 0
    leave_something(Servers(home), "later")
    with open_home() as other:
        done = run_cli("serve", "restore", str(tmp_path / "saved"), home=other)
        assert done.returncode == 0, done.stderr
        process = start(other)
        there = Servers(other)
        assert is_there(there, "kept")
        assert there.mlflow_auth != Servers(home).mlflow_auth
        assert ask(f"{there.mlflow_url}/experiments/search?max_results=1", Servers(home).mlflow_auth)[0] == 401
        names = [row["name"] for row in there.mlflow("experiments/search?max_results=9")["experiments"]]
        assert "later" not in names
        assert list(Vault(other / "vault").values("names")) == [("PERSON", "Zebulon")]
        assert end(process) == 0


def test_told_to_end_it_ends_and_leaves_nothing(stack):
    home, process = stack
    assert run_cli("serve", "stop", home=home).returncode == 0
    assert process.wait(30) == 0
    assert processes_of(home) == []
    assert status(home) == {}


@pytest.mark.parametrize(
    ("number", "whom"),
    [
        (signal.SIGINT, "front"),
        (signal.SIGTERM, "front"),
        (signal.SIGHUP, "front"),
        (signal.SIGKILL, "front"),
        (signal.SIGKILL, "supervisor"),
    ],
)
def test_however_it_ends_nothing_is_left(number, whom):
    with open_home() as home:
        process = start_cli("serve", home=home)
        wait_for(lambda: len([pid for pid in processes_of(home) if "server" in psutil.Process(pid).cmdline()]) == 2)
        (supervisor,) = psutil.Process(process.pid).children()
        os.kill(process.pid if whom == "front" else supervisor.pid, number)
        process.communicate(timeout=60)
        asked = (0, 130)  # the second where it was not ready yet
        codes = {"front": (-9,) if number == signal.SIGKILL else asked, "supervisor": (2,)}
        assert process.returncode in codes[whom]
        wait_for(lambda: not processes_of(home))
        wait_for(lambda: not sockets(home))


def sockets(home):
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(home / "stack" / "supervisord.conf")
    return glob.glob(settings["unix_http_server"]["file"].rpartition("/")[0])
