"""`sm-ops doctor` in one screen: what is well, and what needs a person, with what to do about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from calling import call_cli
from filelock import FileLock

from sm_ops.core import fs
from sm_ops.health import schedules
from sm_ops.listing import listing
from sm_ops.vault import Vault

pytestmark = pytest.mark.unit


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("PREFECT_API_URL", "MLFLOW_TRACKING_URI", "SM_OPS_VAULT_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def doctor(home, monkeypatch, capsys):
    """Exit code and rows by name; several of one name as a list of sentences."""

    def call(*arguments):
        done = call_cli(monkeypatch, capsys, "doctor", "--json", *arguments)
        rows = json.loads(done.stdout)
        return done.returncode, {row["what"]: row for row in rows}

    return call


def test_a_new_home_is_well_and_fits_on_a_screen(doctor, home, monkeypatch, capsys):
    code, rows = doctor()
    assert code == 0
    assert all(row["ok"] for row in rows.values())
    assert rows.keys() >= {"versions", "devices", "disk", "locks", "services", "schedules", "runs", "vault key"}
    shown = call_cli(monkeypatch, capsys, "doctor").stdout.splitlines()
    assert len(shown) == len(rows) < 24
    assert not home.exists(), "asking changes nothing"


def test_a_held_lock_is_told_with_its_holder(doctor, home):
    (home / "locks").mkdir(parents=True)
    with FileLock(home / "locks" / "train-0a.lock"):
        fs.write_json(home / "locks" / "train-0a.holder", {"pid": os.getpid(), "step": "train@SM50-0"})
        _, rows = doctor()
        assert rows["locks"]["found"] == f"train-0a by process {os.getpid()} (step train@SM50-0)"
    assert doctor()[1]["locks"]["found"] == "none is held"


def test_a_lock_of_another_process_is_told_too(doctor, home):
    lock = home / "locks" / "tracking.lock"
    lock.parent.mkdir(parents=True)
    script = "import sys, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(1); input()"
    command = [sys.executable, "-u", "-c", script, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline()
        assert doctor()[1]["locks"]["found"] == f"tracking by process {holder.pid}"
        holder.communicate("\n")


@pytest.mark.parametrize(
    ("variable", "value", "well"),
    [("DO_NOT_TRACK", "false", False), ("DO_NOT_TRACK", "true", True), ("MLFLOW_DISABLE_TELEMETRY", "0", False)],
)
def test_telemetry_that_was_switched_on_is_told(doctor, monkeypatch, variable, value, well):
    monkeypatch.setenv(variable, value)
    code, rows = doctor()
    assert (code, rows["telemetry"]["ok"]) == (0 if well else 3, well)
    assert (variable in rows["telemetry"]["found"]) is not well


def test_private_folders_open_to_others_need_a_person(doctor, home):
    (home / "restricted").mkdir(parents=True, mode=0o755)
    code, rows = doctor()
    assert code == 3
    assert rows["restricted"]["found"] == f"mode 0755; run: chmod 700 {home / 'restricted'}"


def test_a_home_that_is_a_file_needs_a_person(doctor, home):
    home.write_text("")
    code, rows = doctor()
    assert (code, rows["home"]["ok"]) == (3, False)


def test_a_vault_without_its_head_is_not_called_absent(doctor, home):
    vault = Vault(home / "vault")
    vault.init()
    vault.add_values("known", [("EMAIL", "a.b@example.com")])
    assert doctor()[1]["vault key"]["ok"]
    (home / "vault" / "vault.json").unlink()
    code, rows = doctor()
    assert (code, rows["vault key"]["ok"]) == (3, False)
    assert "vault.json is gone" in rows["vault key"]["found"]


def test_a_damaged_run_and_one_that_was_not_sent(doctor, home):
    run = home / "runs" / "tiny-0a1b"
    content = {"format": "run/1", "name": "tiny", "config": {}, "steps": {}, "finished": "2026-01-02T03:04:05+00:00"}
    fs.write_json(run / "run.json", content)
    code, rows = doctor()
    assert code == 3
    assert rows["runs"]["found"] == "1, the last: tiny-0a1b of 2026-01-02 03:04"
    assert rows["tracking"]["found"] == "1 run is not on the tracking server; send what is missing: sm-ops track push"
    (run / "run.json").write_text("{")
    code, rows = doctor()
    assert code == 3
    assert "is damaged" in rows["runs"]["found"]
    assert "tracking" not in rows
    (row,) = listing("runs", "tiny")
    assert row == {"id": "tiny-0a1b", "unreadable": rows["runs"]["found"]}


ROW = {"slug": "nightly", "cron": "0 2 * * *", "timezone": "UTC", "paused": False, "next": "then",
       "last_state": "Completed", "last_expected": "once", "last_ended": "once", "late": 0}  # fmt: skip
HELD = {"run": "tiny", "state": "Running", "since": "then", "silent": False}


@pytest.mark.parametrize(
    ("row", "under_way", "workers", "automation", "well"),
    [
        ({}, [], 1, True, True),
        ({"last_state": "Submitting", "last_ended": None}, [HELD], 1, True, True),
        ({"last_state": "Superseded"}, [], 1, True, True),
        ({"late": 2}, [HELD], 1, True, True),
        ({"late": 3}, [HELD], 1, True, False),
        ({"late": 1}, [], 1, True, False),
        ({"last_state": "Crashed"}, [], 1, True, False),
        ({"last_state": "Checks failed"}, [], 1, True, False),
        ({}, [HELD | {"silent": True}], 1, True, False),
        ({}, [], 0, True, False),
        ({}, [], 1, False, False),
    ],
)
def test_schedules_need_a_person_where_nothing_goes_on(
    doctor, monkeypatch, row, under_way, workers, automation, well
):
    found = {"server": "here", "pools": [{"name": "default", "concurrency": 1, "workers_online": workers}],
             "schedules": [ROW | row], "automation": automation, "under_way": under_way}  # fmt: skip
    answer = subprocess.CompletedProcess([], 0, json.dumps(found), "")
    monkeypatch.setattr(schedules, "_asked", lambda: answer)
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert doctor()[0] == (0 if well else 3)


@pytest.mark.slow
@pytest.mark.slow
def test_a_server_that_is_away_is_a_sentence(doctor, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://user:word@127.0.0.1:9/api")
    code, rows = doctor()
    assert code == 3
    assert not rows["schedules"]["ok"]
    assert "word" not in json.dumps(rows)
    assert "Traceback" not in rows["schedules"]["found"]
