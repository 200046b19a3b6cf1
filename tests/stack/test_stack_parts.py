"""The parts of the stack that need no server: places, secrets, one stack a home, what a client gets, backups."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import psutil
import pytest
from driving import wait_for

from sm_ops.core.errors import InputError, StageError
from sm_ops.stack import backup, client, leftovers, lifecycle, lock, plan, secrets, services, state, supervisor
from sm_ops.stack.plan import Folders, Plan

pytestmark = pytest.mark.unit


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    plan.make_folders(Folders(made), shared=False)
    return made


@pytest.fixture
def both(home):
    """A plan with everything in it."""
    made = Plan.make(home, postgres=False, s3=True, pools=("default", "gpu"))
    made.save()
    return made


@contextmanager
def running(home):
    held = lock.take(Folders(home))
    try:
        yield
    finally:
        os.close(held)


# ---- one stack a home ----------------------------------------------------------------------------------


def test_a_second_stack_is_refused_by_the_process_of_the_first(home):
    assert not state.running(home)
    with running(home):
        assert state.running(home)
        with pytest.raises(InputError) as refused:
            lock.take(Folders(home))
        assert f"process {os.getpid()}" in refused.value.hint
    assert not state.running(home)


def test_a_refused_start_changes_no_mode_that_a_running_server_needs(home):
    folder = Folders(home).stack
    folder.chmod(0o711)
    with running(home), pytest.raises(InputError, match="is running already"):
        lifecycle.start(home, lambda: pytest.fail("no plan is made"), attached=False)
    assert folder.stat().st_mode & 0o777 == 0o711


def test_a_running_stack_without_its_addresses_is_told(home):
    with running(home):
        for content in (None, b"PREFECT_API_URL\n\xff"):
            if content is not None:
                Folders(home).client.write_bytes(content)
            with pytest.raises(InputError, match="missing or damaged"):
                client.use(home)


def test_where_nothing_runs_nothing_is_listed_stopped_or_made(tmp_path):
    assert state.services(tmp_path / "none") == []
    assert lifecycle.stop(tmp_path / "none") is False
    assert not (tmp_path / "none").exists()


def test_processes_are_found_by_their_mark_and_ended(home):
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    stack = Folders(home).stack
    ours, other = (
        subprocess.Popen(words, env=os.environ | leftovers.mark(folder, "mlflow"), start_new_session=True)
        for folder in (stack, stack / "other")
    )
    leftovers.end(stack, "postgres")
    assert ours.poll() is None
    leftovers.end(stack)
    assert (psutil.pid_exists(ours.pid), psutil.pid_exists(other.pid)) == (False, True)
    other.kill()
    other.wait()


# ---- plans ---------------------------------------------------------------------------------------------


def test_a_taken_port_is_replaced_and_a_free_one_kept(home):
    first = Plan.make(home, postgres=True, s3=True, pools=())
    first.save()
    assert len(set(first.ports.values())) == len(first.ports) == 11
    with socket.create_server(("127.0.0.1", first.ports["mlflow"])):
        second = Plan.make(home, postgres=True, s3=False, pools=())
    assert second.ports["mlflow"] != first.ports["mlflow"]
    assert second.ports["prefect"] == first.ports["prefect"]


def test_a_port_of_another_stack_that_does_not_listen_yet_is_left_to_it(home, tmp_path):
    first = Plan.make(home, postgres=False, s3=False, pools=())
    first.save()
    words = [sys.executable, "-c", "import time; time.sleep(60)", leftovers.SUPERVISOR]
    other = subprocess.Popen(words, env=os.environ | {"SM_OPS_HOME": str(home)})
    try:
        wait_for(lambda: home in leftovers.homes())
        second = Plan.make(tmp_path / "second", postgres=False, s3=False, pools=())
    finally:
        other.kill()
        other.wait()
    assert not set(first.ports.values()) & set(second.ports.values())


def test_a_home_keeps_what_it_had(home):
    Plan.make(home, postgres=True, s3=True, pools=()).save()
    again = lifecycle.plan_of(home, postgres=False, s3=False, dev=False, pools=("default",))
    assert (again.postgres, again.s3, again.pools) == (True, True, ("default",))
    with pytest.raises(InputError, match="without --dev"):
        lifecycle.plan_of(home, postgres=False, s3=False, dev=True, pools=())


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "stack/0"}', '{"format": "stack/1", "x": 1, "pools": []}'])
def test_damaged_settings_are_refused_in_words(home, text):
    Folders(home).settings.write_text(text)
    with pytest.raises(InputError) as refused:
        Plan.load(home)
    assert refused.value.code == "stack-format"


# ---- secrets -------------------------------------------------------------------------------------------


def test_a_secret_stays_until_its_file_is_taken_away(home):
    folders = Folders(home)
    first = secrets.secret(folders, "prefect")
    assert (folders.secrets / "prefect").stat().st_mode & 0o777 == 0o600
    assert len(first.reveal()) == 48
    assert secrets.secret(folders, "prefect") == first
    (folders.secrets / "prefect").unlink()
    assert secrets.secret(folders, "prefect") != first


def test_no_secret_is_in_a_command_a_description_or_the_settings_of_the_supervisor(both):
    described = services.services(both)
    supervisor.write_settings(both.folders, described)
    known = [path.read_text() for path in both.folders.secrets.iterdir()]
    assert len(known) >= 8
    text = supervisor.settings_file(both.folders).read_text() + both.folders.settings.read_text() + repr(described)
    text += " ".join(word for each in described for word in each.command)
    assert [value for value in known if value in text] == []


def test_servers_get_neither_the_vaults_key_nor_credentials_of_a_cloud(both, monkeypatch):
    for name in ("SM_OPS_VAULT_KEY", "AWS_SESSION_TOKEN", "MLFLOW_TRACKING_TOKEN", "PREFECT_API_KEY"):
        monkeypatch.setenv(name, "theirs")
    given = {
        each.name: set(each.environment) for each in services.services(both) if "theirs" in each.environment.values()
    }
    assert set(given) == {"prefect-worker-default", "prefect-worker-gpu"}
    assert "PREFECT_API_KEY" not in given["prefect-worker-gpu"]
    assert "SM_OPS_VAULT_KEY" in given["prefect-worker-gpu"]


# ---- clients -------------------------------------------------------------------------------------------

STACK = {
    "PREFECT_API_URL": "http://127.0.0.1:4200/api",
    "PREFECT_API_AUTH_STRING": "admin:stack",
    "MLFLOW_TRACKING_URI": "http://127.0.0.1:5000",
    "MLFLOW_TRACKING_PASSWORD": "stack",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:8333",
    "AWS_SECRET_ACCESS_KEY": "stack",
}


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        ({}, ()),
        ({"MLFLOW_TRACKING_URI": STACK["MLFLOW_TRACKING_URI"]}, ()),
        ({"MLFLOW_TRACKING_URI": "http://other"}, ("MLFLOW_",)),
        ({"PREFECT_API_URL": "http://other"}, ("PREFECT_",)),
        ({"AWS_PROFILE": "team", "AWS_ENDPOINT_URL": "http://other"}, ("AWS_",)),
    ],
)
def test_a_client_gets_what_it_has_not_and_another_server_no_password(home, monkeypatch, own, kept):
    for name in [*STACK, "AWS_PROFILE", "AWS_ACCESS_KEY_ID"]:
        monkeypatch.delenv(name, raising=False)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    client.write(home, STACK)
    assert not client.use(home)
    assert "PREFECT_API_AUTH_STRING" not in os.environ
    with running(home):
        assert client.use(home)
    given = {name: os.environ[name] for name in STACK if name in os.environ}
    assert given == {name: value for name, value in STACK.items() if not name.startswith(tuple(kept))} | {
        name: value for name, value in own.items() if name in STACK
    }
    for name in STACK:
        monkeypatch.delenv(name, raising=False)


# ---- backups -------------------------------------------------------------------------------------------


@pytest.fixture
def saved(home, tmp_path):
    """A backup of databases with a row each, and of one artifact."""
    made = Plan.make(home, postgres=False, s3=False, pools=())
    made.save()
    for name in plan.DATABASES:
        with closing(sqlite3.connect(services.sqlite_file(made, name))) as database, database:
            database.execute("CREATE TABLE kept (name TEXT)")
            database.execute("INSERT INTO kept VALUES (?)", [name])
    services.artifacts_folder(made).mkdir()
    (services.artifacts_folder(made) / "note.txt").write_text("an artifact")
    backup.backup(home, tmp_path / "saved")
    return tmp_path / "saved"


def test_a_backup_comes_back_and_holds_no_secret(saved, home, tmp_path):
    secrets.secret(Folders(home), "prefect")
    manifest = backup.restore(saved, tmp_path / "other")
    assert set(manifest["files"]) == {*(f"databases/{name}.db" for name in plan.DATABASES), "mlartifacts/note.txt"}
    there = Plan.load(tmp_path / "other")
    for name in plan.DATABASES:
        with closing(sqlite3.connect(services.sqlite_file(there, name))) as database:
            assert database.execute("SELECT name FROM kept").fetchall() == [(name,)]
    assert (services.artifacts_folder(there) / "note.txt").read_text() == "an artifact"
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["stack"]


def test_a_changed_missing_or_added_file_of_a_backup_is_seen_before_anything_is_touched(saved, tmp_path):
    for change in (
        lambda: (saved / "mlartifacts" / "note.txt").write_text("another one"),
        lambda: (saved / "mlartifacts" / "note.txt").unlink(),
        lambda: (saved / "databases" / "more.db").write_text("x"),
    ):
        change()
        with pytest.raises(StageError):
            backup.restore(saved, tmp_path / "other")
        assert not (tmp_path / "other").exists()


def test_nothing_is_saved_or_restored_over_what_is_there(saved, home, tmp_path):
    before = sorted(path.name for path in saved.rglob("*"))
    with pytest.raises(InputError, match="choose another place"):
        backup.backup(home, saved)
    with pytest.raises(InputError, match="move it away"):
        backup.restore(saved, home)
    assert sorted(path.name for path in saved.rglob("*")) == before


def test_without_a_stack_or_a_backup_it_is_said(tmp_path):
    with pytest.raises(InputError, match="neither a stack nor a vault"):
        backup.backup(tmp_path / "none", tmp_path / "saved")
    with pytest.raises(InputError, match="There is no backup"):
        backup.restore(tmp_path / "none", tmp_path / "other")
