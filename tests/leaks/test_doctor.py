"""`sm-ops doctor`: the environment in a few lines, and the search of one's own stores for the vault's values."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing

import pytest
from calling import call_cli

from sm_ops.leaks import stores
from sm_ops.vault import Vault

SECRET, NAME, SHORT = "secret.person@example.com", "김가상", "Kim"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("SM_OPS_VAULT_KEY", raising=False)
    home = tmp_path / "home"
    vault = Vault(home / "vault")
    vault.init()
    vault.add_values("known", [("EMAIL", SECRET), ("PERSON", SHORT), ("REL", "배우자")])
    with vault.writer("mapped") as writer:
        writer.add("a", {"[PERSON_1]": NAME})
    (home / "restricted").mkdir(mode=0o700)
    (home / "restricted" / "a.txt").write_text(f"{SECRET} {NAME}")
    return home


@pytest.fixture
def doctor(home, monkeypatch, capsys):
    def call(*arguments):
        done = call_cli(monkeypatch, capsys, "doctor", *arguments)
        for value in (SECRET, NAME, SECRET.encode().hex()):
            assert value not in done.stdout + done.stderr
        return done

    return call


@pytest.mark.unit
def test_a_clean_home_is_clean(doctor, home):
    (home / "runs").mkdir()
    (home / "runs" / "a.txt").write_text("Kim and 배우자 stand in any text.")
    done = doctor("--leaks")
    assert done.returncode == 0, done.stderr
    assert "found: nothing" in done.stdout
    assert "values: 2 searched, 0 of them only as whole words" in done.stdout
    assert "not searchable: 1 too short, 1 relation words (REL)" in done.stdout


@pytest.mark.unit
def test_leaks_are_found_in_own_stores_and_given_paths(doctor, home, tmp_path):
    with closing(sqlite3.connect(home / "mlflow.db")) as database:
        database.execute("CREATE TABLE params (value)")
        database.execute("INSERT INTO params VALUES (?)", (SECRET,))
        database.commit()
    (tmp_path / f"{NAME}.log").write_text("x")
    done = doctor("--leaks", "--json", str(tmp_path / f"{NAME}.log"))
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert {(hit["place"], hit["part"]) for hit in found["findings"]} == {
        (str(home / "mlflow.db"), "bytes"),
        (str(home / "mlflow.db"), "table params"),
        (str(tmp_path / "[a name that holds a value]"), "name"),
    }
    assert found["searched"] == 2
    one = doctor("--leaks", "--dataset", "mapped")
    assert one.returncode == 0, "the other dataset's values are not searched"
    assert "values: 1 searched" in one.stdout


@pytest.mark.unit
def test_what_could_not_be_read_ends_with_another_code(doctor, home):
    (home / "a\x1b[2J\nfound: nothing.xz").write_bytes(b"\xfd7zXZ\0")
    (home / "link").symlink_to("nowhere")
    done = doctor("--leaks")
    assert done.returncode == 2, done.stderr
    assert "not followed: 1 links, 0 pipes" in done.stdout
    assert done.stdout.splitlines()[-2:] == [
        f"not read: {home}/a\\x1b[2J\\nfound: nothing.xz (packed in a way that is not looked into)",
        "found: nothing in what could be read",
    ]
    (home / os.fsdecode(b"a\xff\x1b")).write_text(SECRET)
    done = doctor("--leaks")
    assert done.returncode == 3, "a leak weighs more"
    assert f"  {home}/a\\udcff\\x1b (bytes): 1 values as raw, 1 times" in done.stdout


@pytest.mark.unit
def test_long_values_are_said_to_be_cut(doctor, home):
    Vault(home / "vault").add_values("known", [("ADDRESS", "long " * 50)])
    assert "cut: 1 values are long and searched by their first 200 characters" in doctor("--leaks").stdout


@pytest.mark.unit
def test_bad_usage_is_refused(doctor, home, tmp_path, monkeypatch):
    for arguments, words in (
        (["--leaks", "absent"], "nothing at absent"),
        (["--leaks", "--dataset", "knwon"], "nearest is known"),
        (["--dataset", "known"], "add --leaks"),
    ):
        done = doctor(*arguments)
        assert done.returncode == 2
        assert words in done.stderr
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path / "other"))
    assert "no vault" in doctor("--leaks").stderr


def test_the_environment_in_a_few_lines(doctor, home):
    done = doctor("--json")
    rows = {row["what"]: row for row in json.loads(done.stdout)}
    assert done.returncode == 0, rows
    assert rows["vault key"]["found"].endswith("opens 2 datasets")
    (home / "restricted").chmod(0o755)
    (home / "vault.key").unlink()
    done = doctor()
    assert done.returncode == 3
    bad = [line for line in done.stdout.splitlines() if line.startswith("BAD")]
    assert len(bad) == 2
    assert "chmod 700" in bad[0]
    assert "key is not there" in bad[1]


@pytest.mark.unit
def test_stores_outside_the_home_are_found(tmp_path, monkeypatch):
    for place in ("home/mlartifacts", "elsewhere", "prefect", "repository/.dvc", "repository/deep", "cache"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "elsewhere" / "mlflow.db").touch()
    (tmp_path / "repository" / ".dvc" / "config").write_text("[cache]\n    dir = ../../cache\n")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/elsewhere/mlflow.db")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    found = stores.own_stores(tmp_path / "repository" / "deep")
    assert [path.resolve().relative_to(tmp_path).as_posix() for path in found.paths] == [
        "home", "elsewhere/mlflow.db", "prefect", "repository/.dvc", "cache",
    ]  # fmt: skip
    assert [path.name for path in found.without] == ["restricted", "vault"]
    for uri in ("http://127.0.0.1:5000", "databricks", ""):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        assert tmp_path / "home" in stores.own_stores(tmp_path).paths
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home" / "mlartifacts"))
    assert stores.own_stores(tmp_path).paths == [tmp_path / "home"], "what lies in the home is not searched twice"
