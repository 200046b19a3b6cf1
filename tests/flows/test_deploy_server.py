"""Deployments on a real Prefect server with real workers: schedules, what was missed, what died, what was refused."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from driving import SMALLEST, is_making, wait_for, workers_of
from prefect_server import PrefectServer, prefect_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("prefect-server")]

HEAD = "format: deployments/1\n"
DAILY = "daily: {flow: surprise, config: smallest, cron: '0 2 * * *', timezone: Europe/Berlin, pool: small}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, finished_home: Path) -> Iterator[PrefectServer]:
    folder = tmp_path_factory.mktemp("deployed")
    home = shutil.copytree(finished_home, folder / "home")
    (home / "configs").mkdir(exist_ok=True)
    shutil.copy(SMALLEST, home / "configs" / "smallest.yaml")
    with prefect_server(folder, home) as started:
        yield started


def deploy(server: PrefectServer, schedules: str, pool: str = "small", rest: str = "") -> list[dict[str, Any]]:
    file = server.folder / "deployments.yaml"
    indented = "".join(f"  {line}\n" for line in schedules.splitlines())
    file.write_text(
        f"{HEAD}pools: {{{pool}: {{concurrency: 1}}}}\n" + ("schedules:\n" + indented) * bool(schedules) + rest
    )
    done = server.deploy(file, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def missed(server: PrefectServer, deployment: str, days: int) -> None:
    """Let the server plan runs of the last days, as it would have before an outage."""
    now = datetime.now(UTC)
    times = {"start_time": (now - timedelta(days=days)).isoformat(), "end_time": now.isoformat()}
    found = server.get(f"deployments/name/{deployment}")
    server.post(f"deployments/{found['id']}/schedule", {**times, "max_runs": days, "min_runs": days})


def daily_of(changes: list[dict[str, Any]]) -> list[str]:
    return [change["done"] for change in changes if change["name"] == "surprise/daily"]


def message(run: dict[str, Any]) -> str:
    return run["state"]["message"]


def test_a_minutely_schedule_fires_twice_and_both_runs_end_in_success(server: PrefectServer) -> None:
    every_minute = "minutely: {flow: surprise, config: smallest, cron: '* * * * *', timezone: UTC, pool: small}\n"
    deploy(server, every_minute)
    worker = server.worker("small")
    wait_for(lambda: len(server.runs("surprise/minutely", "Completed")) >= 2, 240)
    first, second = server.runs("surprise/minutely", "Completed")[:2]
    for run in (first, second):
        assert message(run).startswith("run smallest-")
        assert {"sm-ops", "smallest", message(run).removeprefix("run ")} <= set(run["tags"])
    due = [datetime.fromisoformat(run["expected_start_time"]) for run in (first, second)]
    assert due[1] - due[0] == timedelta(minutes=1)
    wait_for(lambda: all(change["done"] != "stopped" for change in deploy(server, "")), 180)
    with pytest.raises(httpx.HTTPStatusError):
        server.get("deployments/name/surprise/minutely")
    going = {"flow_runs": {"state": {"type": {"any_": ["PENDING", "RUNNING"]}}}}
    wait_for(lambda: not server.post("flow_runs/filter", going), 120)
    wait_for(lambda: not workers_of(server.home))
    worker.terminate()
    worker.wait(timeout=60)
    assert worker.pid not in server.started()


def test_twice_changes_nothing_and_what_a_person_paused_stays_paused(server: PrefectServer) -> None:
    releases = "releases: {pool: small, destination: /srv/releases}\n"
    weekly = "weekly: {flow: pii, config: pii_tiny, cron: '0 4 * * sun', pool: small, seeds: [3], "
    weekly += "overrides: {tune.epochs: 2}}\n"
    deploy(server, DAILY + weekly, rest=releases)
    again = deploy(server, DAILY + weekly, rest=releases)
    assert {change["done"] for change in again} == {"unchanged"}
    assert not any(change["paused"] for change in again)
    daily = server.get("deployments/name/surprise/daily")
    (schedule,) = daily["schedules"]
    assert (schedule["slug"], schedule["schedule"]["timezone"]) == ("daily", "Europe/Berlin")
    weekly_parameters = server.get("deployments/name/pii/weekly")["parameters"]
    assert weekly_parameters == {"config": "pii_tiny", "seeds": [3], "overrides": {"tune.epochs": 2}}

    url = f"{server.url}/deployments/{daily['id']}/schedules/{schedule['id']}"
    user, _, password = server.password.partition(":")
    httpx.patch(url, json={"active": False}, auth=(user, password)).raise_for_status()
    changed = deploy(server, DAILY.replace("0 2", "30 3"), rest=releases)
    done = {change["name"]: (change["done"], change["paused"]) for change in changed}
    assert done["surprise/daily"] == ("changed", True)
    assert done["pii/weekly"] == ("removed", False)
    (kept,) = server.get("deployments/name/surprise/daily")["schedules"]
    assert (kept["id"], kept["active"], kept["schedule"]["cron"]) == (schedule["id"], False, "30 3 * * *")
    status = subprocess.run(
        [sys.executable, "-m", "flows.deploy", "status", "--json"],
        env=server.environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = {row["deployment"]: row for row in json.loads(status.stdout)["schedules"]}
    assert rows["surprise/daily"]["paused"]
    assert not rows["release-expire/nightly"]["paused"]
    assert deploy(server, DAILY)[-1]["done"] == "removed"  # the automations of releases


def test_what_was_missed_is_superseded_by_the_newest(server: PrefectServer) -> None:
    deploy(server, DAILY.replace("}", ", overrides: {train.epochs: 12}}"))
    user, _, password = server.password.partition(":")
    daily = server.get("deployments/name/surprise/daily")
    httpx.patch(
        f"{server.url}/deployments/{daily['id']}/schedules/{daily['schedules'][0]['id']}",
        json={"active": True}, auth=(user, password),
    ).raise_for_status()  # fmt: skip
    missed(server, "surprise/daily", 3)
    worker = server.worker("small")
    wait_for(lambda: not server.runs("surprise/daily", "Late") and is_making(server.home, "train"), 180)
    assert daily_of(deploy(server, "")) == ["stopped"]  # its run goes on, and ends well
    wait_for(lambda: server.runs("surprise/daily", "Completed"), 180)
    past = server.runs("surprise/daily")
    assert [run["state_name"] for run in past] == ["Superseded", "Superseded", "Completed"]
    assert {run["state_type"] for run in past[:2]} == {"CANCELLED"}
    assert "is due now" in message(past[0])
    assert daily_of(deploy(server, "")) == ["removed"]
    worker.terminate()
    worker.wait(timeout=60)


def start(server: PrefectServer, **parameters: Any) -> str:
    """Start the main job by hand; its id."""
    found = server.get("deployments/name/surprise/on-demand")
    answer = server.post(f"deployments/{found['id']}/create_flow_run", {"parameters": parameters})
    return answer["id"]


def state(server: PrefectServer, run: str) -> str:
    return server.get(f"flow_runs/{run}")["state_name"]


def set_state(server: PrefectServer, run: str, **value: str) -> None:
    server.post(f"flow_runs/{run}/set_state", {"state": value, "force": True})


def slots(server: PrefectServer) -> int:
    return server.post("work_pools/small/concurrency_status", {})["active_slots"]


LONG = {"config": "smallest", "overrides": {"train.epochs": 60}}


def test_a_run_that_fell_silent_or_never_began_is_crashed_and_holds_no_slot(server: PrefectServer) -> None:
    file = server.folder / "deployments.yaml"
    file.write_text(f"{HEAD}pools: {{small: {{concurrency: 1}}}}\n")
    sooner = (
        "import sys; from flows import _deployments; _deployments.SILENCE = _deployments.START = 40; "
        "from flows.deploy import main; sys.exit(main(['apply', sys.argv[1]]))"
    )
    subprocess.run([sys.executable, "-c", sooner, str(file)], env=server.environment, check=True)
    server.worker("small")
    silent = start(server, **LONG)
    wait_for(lambda: is_making(server.home, "train"), 180)
    server.kill_workers()  # as if their machine had gone
    wait_for(lambda: not workers_of(server.home))
    assert state(server, silent) == "Running"
    lost = start(server, config="smallest")
    set_state(server, lost, type="PENDING", name="Submitting")
    assert slots(server) == 2
    wait_for(lambda: state(server, silent) == state(server, lost) == "Crashed", 180)
    assert slots(server) == 0
    assert message(server.get(f"flow_runs/{silent}")).startswith("No heartbeat for 40 seconds")


def test_a_cancelled_run_leaves_no_process_and_the_next_one_finds_what_is_done(server: PrefectServer) -> None:
    deploy(server, "")
    worker = server.worker("small")
    run = start(server, **LONG)
    wait_for(lambda: is_making(server.home, "train"), 180)
    set_state(server, run, type="CANCELLING")
    wait_for(lambda: state(server, run) == "Cancelled", 60)
    wait_for(lambda: not workers_of(server.home), 20)
    again = start(server, config="smallest")
    wait_for(lambda: state(server, again) == "Completed", 180)
    assert slots(server) == 0
    worker.terminate()
    worker.wait(timeout=60)


def test_an_event_asks_for_a_publication_which_verifies_for_itself(server: PrefectServer) -> None:
    deploy(server, "", rest=f"releases: {{pool: small, destination: {server.folder / 'place'}}}\n")
    worker = server.worker("small")
    event = {
        "occurred": datetime.now(UTC).isoformat(),
        "event": "sm-ops.release.approved",
        "resource": {"prefect.resource.id": "sm-ops.release.notes@1.0"},
        "id": str(uuid4()),
    }
    server.post("events", [event])
    wait_for(lambda: server.runs("release-publish/approved", "Failed"), 180)
    (run,) = server.runs("release-publish/approved")
    assert run["parameters"]["release"] == "notes@1.0"
    assert "notes@1.0" in message(run)
    assert not (server.folder / "place").exists()
    worker.terminate()
    worker.wait(timeout=60)


def test_other_parameters_are_refused_by_the_server_and_by_the_flow(server: PrefectServer) -> None:
    deploy(server, "")
    secret = secrets.token_hex(12)
    others = [
        {"config": f"../{secret}"},
        {"config": "smallest", "overrides": {"data.hosts": secret}},
        {"config": "smallest", "overrides": {"train.method": secret}},
        {"config": "smallest", "key": secret},
    ]
    for parameters in others:
        with pytest.raises(httpx.HTTPStatusError, match="409"):
            start(server, **parameters)
    script = (
        "import json, sys; from flows._deployed import surprise; "
        "print(json.dumps([surprise(**each, return_state=True).message for each in json.loads(sys.argv[1])]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(others[:3])],
        env=server.environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [re.findall(r"\[([a-z-]+)\]$", told)[0] for told in json.loads(done.stdout.splitlines()[-1])] == [
        "config-name", "override-refused", "override-refused",
    ]  # fmt: skip
    assert secret not in done.stdout.splitlines()[-1]


def test_a_run_waits_for_the_gpu_until_its_holder_dies(server: PrefectServer, tmp_path: Path) -> None:
    device = tmp_path / "nvidia0"
    device.touch()
    alone = "from sm_ops.core import exclusive; from pathlib import Path; "
    hold = (
        alone
        + "import sys, time\nwith exclusive.held([Path(sys.argv[1])], print):\n print(flush=True)\n time.sleep(600)"
    )
    run = alone + (
        "import sys; from flows._deployed import surprise; exclusive.gpus = lambda: [Path(sys.argv[1])]; "
        "print(surprise('smallest', return_state=True).name)"
    )
    holder = subprocess.Popen([sys.executable, "-c", hold, str(device)], env=server.environment, stdout=subprocess.PIPE)
    assert holder.stdout
    holder.stdout.readline()
    waiter = subprocess.Popen(
        [sys.executable, "-c", run, str(device)], env=server.environment, stdout=subprocess.PIPE, text=True
    )
    here = {"flow_runs": {"state": {"name": {"any_": ["Waiting for a GPU"]}}}}
    wait_for(lambda: server.post("flow_runs/filter", here), 60)
    assert (
        message(server.post("flow_runs/filter", here)[0]) == f"waiting for process {holder.pid}, which runs on nvidia0"
    )
    holder.kill()
    out, _ = waiter.communicate(timeout=90)
    assert out.splitlines()[-1] == "Completed"
    holder.wait()


def test_the_server_has_learnt_no_data_and_no_secret(server: PrefectServer) -> None:
    """Last: all that the tests before have left."""
    (records,) = (server.home / "restricted" / "synthesize").glob("*/canaries*")
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    values = {each["value"] for each in lines}
    assert values
    with sqlite3.connect(server.folder / "prefect" / "prefect.db") as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = "\n".join(repr(row) for table in tables for row in connection.execute(f'SELECT * FROM "{table}"'))
    logs = "".join((server.folder / name).read_text() for name in ("server.log", "worker.log"))
    password = server.password.partition(":")[2]
    assert "Traceback" not in kept  # the server's own log may have one of SQLite, which several processes write
    for text in (kept, logs):
        assert password not in text
        assert not [value for value in values if value in text]
    assert not list((server.folder / "prefect").rglob("storage/*"))
