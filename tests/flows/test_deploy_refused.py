"""`sm-ops deploy` says in a sentence why it did nothing, before or after it has found no server."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from driving import environment

from flows.deploy import main

FILE = """
format: deployments/1
pools: {small: {concurrency: 1}}
schedules:
  daily: {flow: surprise, config: %s, cron: %s, pool: small, overrides: {%s: 4}}
releases: {pool: small, destination: %s}
"""


@pytest.mark.unit
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (("ours", "'0 2 * * *'", "train.epochs", "/srv/place"), "schedules.daily: there is no config 'ours', neither"),
        (("tiny", "'0 2 * * *'", "data.hosts", "/srv/place"), "schedules.daily: a deployment overrides numbers and"),
        (("tiny", "'0 2 * * *'", "train.epochs", "gopher://x"), "a destination is an absolute folder"),
        (("tiny", "2", "train.epochs", "/srv/place"), "mine.yaml: schedules.daily.cron is 2, but"),
    ],
)
def test_a_file_is_refused_before_a_server_is_asked(
    values: tuple[str, ...], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text(FILE % values)
    assert main(["apply", str(tmp_path / "mine.yaml")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


@pytest.mark.unit
def test_where_no_server_is_named_none_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert main(["status"]) == 2
    assert "sm-ops serve" in capsys.readouterr().err


def refused(tmp_path: Path, *words: str, **variables: str) -> str:
    plain = {name: value for name, value in environment(tmp_path / "home").items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-P", "-m", "sm_ops.cli", "deploy", *words]
    done = subprocess.run(command, env=plain | variables, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.mark.slow
def test_a_server_that_does_not_answer_and_a_schedule_that_is_none(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://someone:word@127.0.0.1:{closed.getsockname()[1]}/api"
        told = refused(tmp_path, "--status", PREFECT_API_URL=url)
    assert told.startswith(f"sm-ops: No Prefect server answers at {url.rpartition('@')[2]}; start it")
    assert "word" not in told
    (tmp_path / "mine.yaml").write_text(FILE % ("tiny", "'0 25 * * *'", "train.epochs", "/srv/place"))
    assert "schedules.daily.cron is '0 25 * * *'" in refused(tmp_path, "mine.yaml", PREFECT_API_URL=url)
