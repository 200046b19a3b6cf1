from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_runs import FakeRun

from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.report.finish import finish
from sm_ops.tracking import runs
from sm_ops.tracking.spool import is_tracked, tracking_uri, untracked

CLOSED = "http://127.0.0.1:9"
SECRET = "svc-kwargs-9f3e@planted.example"


def rows(home: Path, query: str) -> list[tuple]:
    with sqlite3.connect(home / "mlflow.db") as connection:
        return connection.execute(query).fetchall()


def results_of(run: Run) -> dict[str, Any]:
    return json.loads((run.folder / "results.json").read_text())


def no_release(run: object, home: Path) -> None:
    """These runs end without one."""


@pytest.fixture
def tracked(tiny: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> SimpleNamespace:
    finish(tiny.run, tiny.home, no_release)
    tiny.screen = capsys.readouterr()
    return tiny


def test_a_parent_and_a_child_for_each_condition(tracked: SimpleNamespace) -> None:
    parents = rows(tracked.home, "SELECT run_uuid, name, status FROM runs WHERE run_uuid NOT IN "
                   "(SELECT run_uuid FROM tags WHERE key = 'mlflow.parentRunId')")  # fmt: skip
    assert [parent[1:] for parent in parents] == [(tracked.run.id, "FINISHED")]
    children = rows(tracked.home, "SELECT r.name, t.value FROM runs r JOIN tags t USING (run_uuid) "
                    "WHERE t.key = 'mlflow.parentRunId'")  # fmt: skip
    names = {"base", "unmasked", "oracle", "SM95", "random95"}
    assert {name for name, _ in children} == names
    assert {parent for _, parent in children} == {parents[0][0]}
    assert is_tracked(tracked.run, tracked.home)
    assert tracked.screen.err == ""


def test_metrics_carry_their_intervals_and_seeds_are_steps(tracked: SimpleNamespace) -> None:
    found = rows(tracked.home, "SELECT m.key, m.step, m.value FROM metrics m JOIN runs r USING (run_uuid) "
                 "WHERE r.name = 'unmasked'")  # fmt: skip
    by_key = {(key, step): value for key, step, value in found}
    # the fake run's attacks within 8 queries: 3 of 3 canaries for seed 0, 1 of 3 for seed 1
    assert by_key["extraction_approx", 0] == pytest.approx(4 / 6)
    assert by_key["extraction_approx_low", 0] < 4 / 6 < by_key["extraction_approx_high", 0]
    assert by_key["per_seed/extraction_approx", 0] == 1
    assert by_key["per_seed/extraction_approx", 1] == pytest.approx(1 / 3)
    assert by_key["nll", 0] == pytest.approx(1.1)
    assert {key for key, _ in by_key} >= {"target_coverage", "collateral_rate", "budget_tokens", "nll_se"}
    base = rows(tracked.home, "SELECT m.key FROM metrics m JOIN runs r USING (run_uuid) WHERE r.name = 'base'")
    assert ("target_coverage",) not in base  # undefined is absent, not 0


def test_data_sets_go_by_our_digest(tiny: SimpleNamespace) -> None:
    fake = FakeRun(tiny.home)
    fake.add("synthesize", {"train.jsonl": [1], "canaries.jsonl": [SECRET]}, "restricted")
    digest = fake.records["synthesize"].outputs["train.jsonl"].sha256
    runs.log_run(tiny.run, results_of(tiny.run), tiny.home)
    found = rows(tiny.home, "SELECT name, digest, dataset_source FROM datasets")
    assert found == [("synthesize/train", digest[:32], '{"step": "synthesize", "output": "train.jsonl"}')]


def test_nothing_restricted_and_no_path_is_sent(tiny: SimpleNamespace, tmp_path: Path) -> None:
    config = tiny.run.config
    config["data"] = {"dataset": "own", "hosts": str(tmp_path), "own": {"train": "/srv/acme/customers.jsonl"}}
    config["base"] = {"name": str(tmp_path)}
    config["references"] = {"tiny": {"model": "org/model-1b", "fit": "/srv/acme/clean.jsonl"}}
    finish(tiny.run, tiny.home, no_release)
    sent = json.loads(next(tiny.home.rglob("artifacts/config.json")).read_text())
    assert sent["data"]["own"]["train"] == sent["data"]["hosts"] == sent["base"]["name"] == "[a file or folder]"
    assert sent["references"]["tiny"] == {"model": "org/model-1b", "fit": "[a file or folder]"}
    files = [path for path in (tiny.home / "mlartifacts").rglob("*") if path.is_file()]
    public = {"config.json", "report.html", "frontier.svg", "results.json", "models.json"}
    assert {path.name for path in files} == public
    for path in [*files, tiny.home / "mlflow.db"]:
        content = path.read_bytes()
        assert SECRET.encode() not in content
        assert b"/srv/acme" not in content
        assert path.suffix == ".db" or str(tmp_path).encode() not in content  # MLflow's own notes say where files lie
    for value, *_ in rows(tiny.home, "SELECT value FROM params UNION SELECT value FROM tags"):
        assert str(tmp_path) not in value


def test_an_artifact_below_the_restricted_root_is_refused(
    tracked: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = next(path for path in (tracked.home / "restricted").rglob("*") if path.is_file())
    report = tracked.run.folder / "report.html"
    report.unlink()
    report.symlink_to(hidden)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    results = json.loads((tracked.run.folder / "results.json").read_text())
    with pytest.raises(InputError) as refused:
        runs.log_run(tracked.run, results, tracked.home)
    assert refused.value.code == "restricted"
    assert not is_tracked(tracked.run, tracked.home)


def test_a_run_is_sent_once(tracked: SimpleNamespace) -> None:
    count = "SELECT count(*) FROM runs WHERE lifecycle_stage = 'active'"
    assert rows(tracked.home, count) == [(6,)]
    assert runs.push(tracked.home) == []
    (tracked.run.folder / "links.json").unlink()  # killed after the transfer, before the marker
    assert runs.push(tracked.home) == [tracked.run.id]
    assert rows(tracked.home, count) == [(6,)]


def test_a_broken_transfer_is_begun_again(tiny: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = runs._log_child
    monkeypatch.setattr(runs, "_log_child", lambda *arguments: 1 / 0)
    finish(tiny.run, tiny.home, no_release)
    assert not is_tracked(tiny.run, tiny.home)
    monkeypatch.setattr(runs, "_log_child", whole)
    assert runs.push(tiny.home) == [tiny.run.id]
    names = rows(tiny.home, "SELECT name FROM runs WHERE lifecycle_stage = 'active'")
    assert sorted(name for (name,) in names) == sorted([tiny.run.id, "base", "unmasked", "oracle", "SM95", "random95"])


def test_the_server_is_down_and_the_run_ends_well(
    tiny: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", CLOSED)
    started = time.monotonic()
    finish(tiny.run, tiny.home, no_release)
    assert time.monotonic() - started < 30
    screen = capsys.readouterr()
    assert "SM95" in screen.out
    assert "was not tracked" in screen.err
    assert "sm-ops track push" in screen.err
    assert CLOSED not in screen.err
    assert [run.id for run in untracked(tiny.home)] == [tiny.run.id]
    with pytest.raises(InputError, match="tracking-failed"):
        runs.push(tiny.home)
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert runs.push(tiny.home) == [tiny.run.id]
    assert untracked(tiny.home) == []


def test_the_default_server_is_a_file_of_the_home(tiny: SimpleNamespace) -> None:
    assert tracking_uri(tiny.home) == f"sqlite:///{tiny.home}/mlflow.db"


def test_a_finished_run_is_shown_again_without_heavy_imports(tracked: SimpleNamespace) -> None:
    script = (
        "import sys; from pathlib import Path; from sm_ops.core.home import find_run; "
        "from sm_ops.report.finish import finish; from sm_ops.release import after_run; home = Path(sys.argv[1]); "
        "finish(find_run(home), home, after_run.release); "
        "print(sorted({'mlflow', 'matplotlib', 'torch', 'prefect', 'flows', 'dvc', 'pandas'} & sys.modules.keys()))"
    )
    command = [sys.executable, "-c", script, str(tracked.home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.splitlines()[-2].startswith("next: sm-ops ")


def test_a_report_is_written_again_when_results_changed(tracked: SimpleNamespace) -> None:
    report, results = tracked.run.folder / "report.html", tracked.run.folder / "results.json"
    results.write_text("{}")
    report.write_text("")
    finish(tracked.run, tracked.home, no_release)
    assert "SM95" in report.read_text()
    assert json.loads(results.read_text())["rows"]
