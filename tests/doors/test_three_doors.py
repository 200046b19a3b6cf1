from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from doors import call, dvc_repository, hashes, sm_ops, write_config

pytestmark = pytest.mark.xdist_group("doors")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("doors")


@pytest.fixture(scope="module")
def config(place: Path) -> Path:
    return write_config(place)


@pytest.fixture(scope="module")
def plain(place: Path, config: Path) -> dict[str, str]:
    done = call(sm_ops("run", str(config)), place, place / "plain")
    assert done.returncode == 0, done.stderr
    return hashes(place / "plain")


def test_the_plain_door_leaves_hashes_of_every_step(plain: dict[str, str]) -> None:
    steps = {name.partition("/")[0] for name in plain}
    assert {"synthesize", "audit", "base", "fit@ngram", "score@tiny", "calibrate", "mask"} <= steps
    assert {"train@SM95-0", "attack@base-0", "evaluate@SM95-0"} <= steps


def test_the_flow_gives_equal_hashes_and_the_same_screen(place: Path, config: Path, plain: dict[str, str]) -> None:
    done = call(sm_ops("run", str(config), "--orchestrate"), place, place / "flow")
    assert done.returncode == 0, done.stderr
    assert hashes(place / "flow") == plain
    again = call(sm_ops("run", str(config)), place, place / "plain").stdout
    assert done.stdout.replace(str(place / "flow"), "") == again.replace(str(place / "plain"), "")


def test_dvc_repro_of_a_stage_gives_equal_hashes(place: Path, config: Path, plain: dict[str, str]) -> None:
    repository, home = place / "part", place / "part-home"
    dvc_repository(repository, config, home)
    done = call(["dvc", "--wait-for-lock", "repro", "mask"], repository, home)
    assert done.returncode == 0, done.stdout + done.stderr
    made = hashes(home)
    assert {"synthesize", "base", "score@tiny", "mask"} <= {name.partition("/")[0] for name in made}
    assert made == {name: plain[name] for name in made}


@pytest.mark.slow
def test_dvc_repro_gives_equal_hashes_and_the_report(place: Path, config: Path, plain: dict[str, str]) -> None:
    repository, home = place / "repository", place / "dvc"
    dvc_repository(repository, config, home)
    done = call(["dvc", "--wait-for-lock", "repro"], repository, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert hashes(home) == plain
    assert len(list((home / "runs").glob("*/report.html"))) == 1
    assert "up to date" in call(["dvc", "repro"], repository, home).stdout
    states = json.loads(call(sm_ops("show", "--config", "params.yaml", "--json"), repository, home).stdout)
    assert {state["state"] for state in states} == {"stored"}

    exported = repository / "out"
    assert json.loads((exported / "evaluate@SM95-0" / "metrics.json").read_text()).keys() >= {"nll"}
    assert (exported / "restricted").stat().st_mode & 0o777 == 0o700
    assert (exported / "restricted" / "train@SM95-0" / "model").is_dir()
    assert (exported / "train@SM95-0" / "model.sha256").read_text().strip() == plain["train@SM95-0/model"]
    for command in (["dvc", "commit", "--force"], ["dvc", "status"]):
        assert call(command, repository, home).returncode == 0
        cached = {path.read_bytes() for path in (repository / ".dvc/cache/files").rglob("*") if path.is_file()}
        restricted = {path.read_bytes() for path in outputs(home / "restricted") if path.is_file()}
        internal = {path.read_bytes() for path in (home / "store").glob("*/*/*") if path.name != "record.json"}
        assert cached >= internal
        assert not cached & restricted

    _edited_params_change_what_runs(repository, home)


def outputs(restricted: Path) -> list[Path]:
    """Files below the restricted root but DVC's cache of versions of data, which holds data of every class."""
    return [path for path in restricted.rglob("*") if path.relative_to(restricted).parts[0] != "data-cache"]


def _edited_params_change_what_runs(repository: Path, home: Path) -> None:
    params = yaml.safe_load((repository / "params.yaml").read_text())
    params["evaluate"]["token_budget"] += 1
    (repository / "params.yaml").write_text(yaml.safe_dump(params))
    done = call(["dvc", "repro", "evaluate@base-0"], repository, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ran again: setting evaluate.token_budget went from" in done.stderr
    assert "synthesize" not in done.stderr
