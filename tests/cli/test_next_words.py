"""The last line of a command can be typed as it stands: it names the same config, overrides and options."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from calling import call_cli

from sm_ops.cli import options
from sm_ops.core import fs

pytestmark = pytest.mark.unit

SMALLEST = str(Path(__file__).resolve().parents[1] / "pipelines" / "smallest.yaml")
SET = ["--set", "seeds=[0, 1]", "--set", "data.seed=7"]


def typed_next(monkeypatch, capsys, *arguments: str) -> list[str]:
    done = call_cli(monkeypatch, capsys, *arguments)
    assert done.returncode == 0, done.stderr
    start, _, words = done.stderr.splitlines()[-1].partition("sm-ops ")
    assert start == "next: "
    return shlex.split(words)


def test_show_names_the_config_that_it_looked_at(monkeypatch, capsys):
    due = [{"step": "synthesize", "state": "would run", "reasons": []}]
    monkeypatch.setattr("sm_ops.listing.states", lambda *_: due)
    assert typed_next(monkeypatch, capsys, "show", "synthesize") == ["run"]
    assert typed_next(monkeypatch, capsys, "show", "synthesize", *SET) == ["run", *SET]
    found = typed_next(monkeypatch, capsys, "show", "synthesize", "--config", SMALLEST, *SET)
    assert found == ["run", SMALLEST, *SET]


def test_a_stage_names_the_config_of_the_next_one(monkeypatch, capsys):
    monkeypatch.setattr("sm_ops.runner.run_stage", lambda *_: None)
    found = typed_next(monkeypatch, capsys, "stage", "calibrate", "--config", SMALLEST, *SET)
    assert found == ["stage", "mask", "--config", SMALLEST, *SET]


def test_a_job_is_submitted_as_it_was_shown(monkeypatch, capsys, tmp_path):
    inventory = tmp_path / "an inventory.json"
    fs.write_json(inventory, {})
    monkeypatch.setattr("sm_ops.cli.sagemaker._inventory", lambda path: path)
    shown = ["sagemaker", "upload", *SET, "--inventory", str(inventory)]
    assert typed_next(monkeypatch, capsys, *shown) == [*shown, "--execute"]


def test_what_was_not_given_is_not_named():
    assert options.same_config("tiny", None, "--config") == options.same_options(inventory=None) == []
    assert options.same_config("my.yaml", [], "--config") == ["--config", "my.yaml"]


@pytest.mark.parametrize(
    ("needed", "named", "added"), [(1_741, None, ["--set", "data.hosts=PATH"]), (1_740, None, []), (1_741, "code", [])]
)
def test_a_valid_config_starts_with_its_overrides_and_the_hosts_that_it_lacks(
    monkeypatch, capsys, needed, named, added
):
    facts = {"data": {"hosts_needed": needed, "hosts_named": named}}
    monkeypatch.setattr("sm_ops.training.recipe.check", lambda _: facts)
    monkeypatch.setattr("sm_ops.training.recipe.describe", lambda _: [])
    done = call_cli(monkeypatch, capsys, "validate", *SET)
    assert done.returncode == 0, done.stderr
    assert shlex.split(done.stdout.partition("start with: ")[2]) == ["sm-ops", "run", *SET, *added]
