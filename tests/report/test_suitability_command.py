from __future__ import annotations

import csv
import json
from pathlib import Path

import fake_sanitize
import pytest
from calling import call_cli
from test_html import parsed

from sm_ops.report.sanitize.html import write_report


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one run, whose records have no labels where the filters are applied."""
    fake = fake_sanitize.make(tmp_path / "home", labelled=False, chosen=None, setting=None)
    page = parsed(write_report(fake.run, fake.home).read_text("utf-8")).text
    assert "The application side has no labels" in page
    assert "Combinations" not in page
    monkeypatch.setenv("SM_OPS_HOME", str(fake.home))
    monkeypatch.chdir(tmp_path)
    return fake.home


def test_the_page_is_made_from_all_runs(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call_cli(monkeypatch, capsys, "report", "--suitability")
    assert said.returncode == 0
    assert "creddata" not in said.stdout, "a title of the paper's settings"
    assert "CredData, surprise under ngram: suitable. It covers 80 % for 10 %." in said.stdout
    assert "not measured here: Code PII, Code Quirks, PIIBench" in said.stdout
    assert f"page: {home / 'suitability' / 'suitability.html'}" in said.stdout
    out = home.parent / "page"
    said = call_cli(monkeypatch, capsys, "report", "--suitability", "--out", "page", "--json")
    assert json.loads(said.stdout)["rows"][0]["auroc"]["application"] is None
    names = {"suitability.html", "suitability.svg", "suitability.csv", "suitability.json", "curves.csv"}
    assert {path.name for path in out.iterdir()} == names


@pytest.mark.parametrize("arguments", [("own_code", "--suitability"), ("--out", "page")])
def test_it_is_about_all_runs(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    said = call_cli(monkeypatch, capsys, "report", *arguments)
    assert said.returncode == 2
    assert "--suitability is about all runs" in said.stderr
    assert not (home / "suitability").exists()


def test_folds_are_told_one_by_one_and_together(tmp_path: Path) -> None:
    fake = fake_sanitize.make(tmp_path, folds=2)
    text = parsed(write_report(fake.run, fake.home).read_text("utf-8")).text
    assert "Figures are of the first of 2 folds where none is named." in text
    assert "Fold 1: Take surprise at a threshold of 2.000 (suitable)." in text
    assert "Over 2 folds" in text
    assert "2 of 2" in text, "folds that hold a category"
    with (fake.run.folder / "costs.csv").open(encoding="utf-8") as file:
        costs = {row["filter"]: row for row in csv.DictReader(file)}
    assert (costs["surprise"]["seconds"], costs["surprise"]["source_tokens"]) == ("180.0", "400000")


def test_an_empty_home_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path))
    said = call_cli(monkeypatch, capsys, "report", "--suitability")
    assert said.returncode == 2
    assert "sm-ops sanitize" in said.stderr
