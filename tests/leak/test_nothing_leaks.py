"""Nothing of the data is seen outside the restricted root: by no door, after success or failure, in no form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from doors import call, dvc_repository
from driving import ROOT, copy_home, records, run_cli
from own_data import OwnData
from sabotage import sabotaged
from search import found_in, search

from sm_ops.stages import SURPRISE

Done = CompletedProcess[str]


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> OwnData:
    return OwnData(tmp_path_factory.mktemp("own") / "data")


def plain(own: OwnData, home: Path, source: Path = ROOT) -> Done:
    return run_cli("run", str(own.config), home=home, source=source)


def prefect(own: OwnData, home: Path, source: Path = ROOT) -> Done:
    return run_cli("run", str(own.config), "--orchestrate", home=home, source=source)


def dvc(own: OwnData, home: Path, source: Path = ROOT) -> Done:
    repository = home.parent / "repository"
    dvc_repository(repository, own.config, home)
    done = call(["dvc", "--wait-for-lock", "repro", "--verbose"], repository, home, PYTHONPATH=str(source))
    if done.returncode:  # DVC has one exit code for all failures of its commands; ours stands in what it says
        done.returncode = 1
    return done


Door = Callable[[OwnData, Path, Path], Done]


def seen(done: Done, home: Path, own: OwnData) -> list[str]:
    """Every place outside the restricted roots where something of the data stands, DVC's repository included."""
    said = [f"value {n} as {form} on standard output" for n, form in found_in(done.stdout.encode(), own.values)]
    said += [f"value {n} as {form} on standard error" for n, form in found_in(done.stderr.encode(), own.values)]
    hits = search(home, own.values, without=[home / "restricted"])
    repository = home.parent / "repository"
    return said + hits + search(repository, own.values, without=[repository / "out" / "restricted"])


@pytest.fixture(scope="module")
def succeeded(own, tmp_path_factory) -> Path:
    """A home after a success through the plain door."""
    home = tmp_path_factory.mktemp("leak") / "home"
    done = plain(own, home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, own) == []
    return home


def test_success_by_the_plain_door(succeeded, own):
    made = {record["stage"] for record in records(succeeded).values()}
    assert made == {stage.name for stage in SURPRISE}
    assert (next(succeeded.glob("runs/*/report.html"))).is_file()
    restricted = search(succeeded / "restricted", own.values)
    unseen = [n for n in range(len(own.values)) if not any(hit.startswith(f"value {n} as raw") for hit in restricted)]
    assert unseen == [], "the values were in the run"


@pytest.mark.slow
@pytest.mark.parametrize("door", [prefect, dvc])
def test_success_by_the_other_doors(door, succeeded, own, tmp_path):
    home = copy_home(succeeded, tmp_path / "home", without="evaluate")
    done = door(own, home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, own) == []


def fail_in(stage: str, how: str, door: Door, succeeded: Path, own: OwnData, folder: Path) -> None:
    source = sabotaged(stage, how, own.values[:3], folder / "source")
    home = copy_home(succeeded, folder / "home")
    done = door(own, home, source)
    assert done.returncode == (1 if how == "value" else 2), done.stderr
    assert seen(done, home, own) == []
    logs = [hit for hit in search(home / "restricted" / "logs", own.values) if hit.startswith("value 0 as raw")]
    assert logs or how == "system", "the failure was reached, and its text is in the restricted log alone"


@pytest.mark.parametrize("stage", [stage.name for stage in SURPRISE])
def test_failure_in_each_stage(stage, succeeded, own, tmp_path):
    fail_in(stage, "value", plain, succeeded, own, tmp_path)


def test_failure_of_the_system(succeeded, own, tmp_path):
    fail_in("score", "system", plain, succeeded, own, tmp_path)


@pytest.mark.parametrize("door", [pytest.param(prefect, marks=pytest.mark.slow), dvc])
@pytest.mark.parametrize(
    "stage", [pytest.param(s.name, marks=[] if s.name == "train" else pytest.mark.slow) for s in SURPRISE]
)
def test_failure_by_the_other_doors(door, stage, succeeded, own, tmp_path):
    fail_in(stage, "value", door, succeeded, own, tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: row.replace('"text"', '"txet"', 1),
        lambda row: row[:-1],
        lambda row: row.replace('"end": ', '"end": 9999', 1),
        lambda row: row.replace('"label": "key"', '"lable": 5', 1),
    ],
)
def test_refused_records_are_told_without_their_values(damage, tmp_path):
    own = OwnData(tmp_path / "data")
    path = tmp_path / "data" / "train.jsonl"
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[0], damage(rows[1]), *rows[2:]]))
    home = tmp_path / "home"
    done = plain(own, home)
    assert done.returncode == 2, done.stderr
    assert "line 2" in done.stderr
    assert seen(done, home, own) == []


def test_a_planted_leak_is_noticed(own, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "some.json").write_text(own.values[0])
    done = CompletedProcess([], 0, stdout=own.values[1], stderr=own.values[2])
    assert len(seen(done, tmp_path / "home", own)) >= 3
