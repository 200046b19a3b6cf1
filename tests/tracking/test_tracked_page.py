"""What a person finds on the tracking server: the page of a run, those below it, and the comparison of all."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sm_ops.core.config.loading import FLOWS
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run, find_run
from sm_ops.core.store import Store
from sm_ops.tracking import experiment, runs
from sm_ops.tracking.server import connected

GIT, DATA = "0" * 39 + "1", "0" * 39 + "2"


@pytest.fixture(scope="module")
def page(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """The run as sent once, with its links: read it only. `run` and `of` (a row's) have the server's own answers."""
    home = tmp_path_factory.mktemp("page") / "home"
    shutil.copytree(made, home)
    run = find_run(home)
    run.link(git=GIT, data=DATA)
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv("MLFLOW_TRACKING_URI", raising=False)
        runs.log_run(run, json.loads((run.folder / "results.json").read_text()), home)
        with connected(home) as client:
            (found,) = client.search_experiments(filter_string="name = 'sm-ops'")
            sent = client.search_runs([found.experiment_id])
            by_name = {each.info.run_name: each for each in sent}
            yield SimpleNamespace(
                home=home, id=run.id, experiment=found, run=by_name[run.id], of=by_name, client=client
            )


def test_the_text_says_first_whether_it_went_well_and_then_shows_the_rows(page: SimpleNamespace) -> None:
    text = page.run.data.tags["mlflow.note.content"]
    first, remark, table, figure, *_ = text.split("\n\n")
    assert first.startswith("**4 of 6 claims hold, 1 undefined.** Not: SM95 leaks at most a tenth of that")
    assert remark.startswith("Reference tiny: use it.")
    lines = [[cell.replace("&emsp;", "").strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert lines[0][:3] == ["", "canaries extracted", "held-out NLL"]
    by_row = {line[0]: line for line in lines[2:]}
    assert by_row.keys() == {"base", "unmasked", "oracle", "SM95", "random95"}
    assert by_row["unmasked"][1].startswith("66.7 % [")  # 4 of 6 canaries
    assert by_row["unmasked"][2] == "1.100 ± 0.100"
    assert by_row["base"][4] == "–"  # coverage of no mask is undefined
    run = page.run.info.run_id
    assert figure == f"![Leakage against utility](get-artifact?path=frontier.svg&run_uuid={run})"
    assert f"](#/experiments/{page.experiment.experiment_id}/runs/{run}/artifacts/report.html)" in text
    assert "SM95" in page.of["SM95"].data.tags["mlflow.note.content"]
    assert "oracle" not in page.of["SM95"].data.tags["mlflow.note.content"]


def test_a_run_carries_what_each_row_costs_and_leaks_and_what_it_took(page: SimpleNamespace) -> None:
    metrics = page.run.data.metrics
    assert metrics["extraction_approx/unmasked"] == pytest.approx(4 / 6)
    assert metrics["nll/unmasked"] == pytest.approx(1.1)
    assert metrics["wall_seconds"] == 60.5
    assert metrics["peak_memory_megabytes"] == 700
    history = page.client.get_metric_history(page.run.info.run_id, "system/cpu_utilization_percentage")
    assert [(each.step, each.timestamp, each.value) for each in history] == [(0, 1_000_000, 50), (1, 1_060_500, 75)]
    assert (page.run.info.start_time, page.run.info.end_time) == (1_000_000, 1_060_500)


def test_losses_are_curves_over_optimiser_steps(page: SimpleNamespace) -> None:
    curve = page.client.get_metric_history(page.of["SM95"].info.run_id, "training/loss_seed_1")
    assert [(each.step, each.value) for each in curve] == [(1, 5.0), (2, 3.0)]
    assert not any(name.startswith("training/") for name in page.of["unmasked"].data.metrics)  # it left none


def test_models_are_pointers_with_digests(page: SimpleNamespace) -> None:
    (file,) = page.client.list_artifacts(page.of["unmasked"].info.run_id)
    assert file.path == "models.json"
    stored = Path(page.client.download_artifacts(page.of["unmasked"].info.run_id, "models.json"))
    first, second = json.loads(stored.read_text())["models"]
    assert [first["model"], second["model"]] == ["seed_0", "seed_1"]
    assert (first["step"], first["class"]) == ("train@unmasked-0", "restricted")
    run = find_run(page.home)
    record = Store(page.home).find("train", run.steps["train@unmasked-0"]["fingerprint"])
    assert record is not None
    assert first["sha256"] == record.outputs["model"].sha256
    assert first["bytes"] == Store(page.home).output_path(record, "model").stat().st_size


def test_code_and_data_are_linked(page: SimpleNamespace) -> None:
    tags = page.run.data.tags
    assert (tags["sm_ops.git"], tags["mlflow.source.git.commit"], tags["sm_ops.data"]) == (GIT, GIT, DATA)
    (link,) = find_run(page.home).links()["mlflow"].values()
    assert link == page.run.info.run_id


def test_the_saved_comparison_asks_for_measures_that_the_rows_have(page: SimpleNamespace) -> None:
    tags = page.experiment.tags
    assert tags["mlflow.experimentKind"] == "custom_model_development"
    assert "viewStateShareKey=sm-ops-surprise" in tags["mlflow.note.content"]
    views = {name: value for name, value in tags.items() if name.startswith("mlflow.sharedViewState.")}
    assert {name.rpartition("-")[2] for name in views} == FLOWS.keys()
    assert all(len(value) < 5000 for value in views.values())  # the most that a tag holds
    view = json.loads(views["mlflow.sharedViewState.sm-ops-surprise"])
    state = json.loads(view["state"])
    found = page.client.search_runs([page.experiment.experiment_id], state["searchFilter"])
    assert {each.info.run_name for each in found} == {"base", "unmasked", "oracle", "SM95", "random95"}
    plane, *bars = state["compareRunCharts"]
    assert {plane["xaxis"]["key"], plane["yaxis"]["key"], *(bar["metricKey"] for bar in bars)} == {
        "nll", "extraction_approx",
    }  # fmt: skip
    metrics = page.of["SM95"].data.metrics
    columns = [name.split("`")[1] for name in state["selectedColumns"] if name.startswith("metrics.")]
    assert columns
    assert set(columns) - metrics.keys() == {"display", "pass_at", "completion_nll"}  # of answers


def test_a_view_that_people_changed_stays(tiny: SimpleNamespace) -> None:
    name = "mlflow.sharedViewState.sm-ops-surprise"
    with connected(tiny.home) as client:
        id_ = experiment.find_experiment(client, tiny.home)
        client.set_experiment_tag(id_, name, "{}")
        assert experiment.find_experiment(client, tiny.home) == id_
        assert client.get_experiment(id_).tags[name] == "{}"


def test_links_that_became_known_later_are_sent_later(tiny: SimpleNamespace) -> None:
    assert runs.push(tiny.home) == [tiny.run.id]
    tiny.run.link(data=DATA)
    assert runs.push(tiny.home) == []
    assert tag(tiny.home, tiny.run, "sm_ops.data") == DATA


def test_a_server_that_forgot_a_run_gets_it_again(tiny: SimpleNamespace, made: Path) -> None:
    assert runs.push(tiny.home) == [tiny.run.id]
    shutil.copy(made / "mlflow.db", tiny.home)  # put back from before
    assert runs.push(tiny.home) == [tiny.run.id]
    assert tag(tiny.home, tiny.run, "sm_ops.run") == tiny.run.id


def test_a_deleted_experiment_is_told_in_words(tiny: SimpleNamespace) -> None:
    with connected(tiny.home) as client:
        client.delete_experiment(experiment.find_experiment(client, tiny.home))
    with pytest.raises(InputError, match="mlflow experiments restore"):
        runs.push(tiny.home)


def tag(home: Path, run: Run, name: str) -> Any:
    """Of the run itself, straight from the database."""
    (id_,) = run.links()["mlflow"].values()
    with sqlite3.connect(home / "mlflow.db") as connection:
        ((value,),) = connection.execute("SELECT value FROM tags WHERE run_uuid = ? AND key = ?", (id_, name))
    return value
