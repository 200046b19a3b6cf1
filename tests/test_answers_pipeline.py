"""Runs whose models answer prompts, through every door that shows a run: with and without anything to extract."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from driving import ROOT, run_cli

from sm_ops.evaluation import sandbox
from sm_ops.tracking.sent_surprise import SENT

pytestmark = pytest.mark.slow

QUIRKS = ROOT / "tests" / "pipelines" / "quirks_smallest.yaml"
TEXT = (
    "--set", "data.form=text", "--set", "train.method=scratch", "--set", "completions.execute=false",
    "--set", "completions.prompts=2",
)  # fmt: skip


def finished(home: Path, *changes: str) -> tuple[str, dict, Path]:
    """What the run printed, its results, and its folder."""
    done = run_cli("run", str(QUIRKS), *changes, home=home, timeout=600)
    assert done.returncode == 0, done.stderr
    results = json.loads(run_cli("report", "--json", home=home).stdout)
    return done.stdout, results, home / "runs" / results["run"]["id"]


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open() as file:
        return list(csv.DictReader(file))


def test_quirks_are_displayed_and_tasks_solved_where_nothing_is_extracted(tmp_path):
    if sandbox.isolation() == "refused":
        pytest.skip("this machine has nothing that keeps programs in")
    printed, results, folder = finished(tmp_path / "home")
    header = printed.splitlines()[0]
    assert "display@2" in header
    assert "pass@2" in header
    assert "extracted" not in header
    for row in results["rows"] + results["per_seed"]:
        assert row["extraction_approx"] == {"k": 0, "n": 0, "low": None, "high": None}
        assert row["expected_exact"] is None
        assert (row["pass_at"]["prompts"], row["pass_at"]["tasks"], row["display"]["k"]) == (3, 3, 2)
        assert row["completion_nll"] > 0
    assert {row["on_frontier"] for row in results["rows"]} >= {True, None}
    assert results["by_kind"] == []
    assert {each["quirk"] for each in results["by_quirk"]} >= {"single_exit"}
    assert {claim["name"] for claim in results["claims"]} >= {"unmasked-displays", "base-solves-nothing"}
    assert "unmasked-leaks" not in {claim["name"] for claim in results["claims"]}
    assert len(rows(folder, "by_quirk.csv")) == len(results["by_quirk"])
    page = (folder / "report.html").read_text()
    assert "display@2" in page
    assert "canaries extracted" not in page
    measures = {child.name: child.measures for child in SENT.children(results)}
    assert measures["unmasked"]["display"] is not None
    assert measures["unmasked"]["extraction_approx"] is None
    for command in ("ls", "show"):
        assert run_cli(command, home=tmp_path / "home").returncode == 0
    again = run_cli("run", str(QUIRKS), home=tmp_path / "home")
    assert again.returncode == 0
    assert "ran again" not in again.stderr


def test_texts_go_on_from_a_comment_and_answers_that_are_not_run_pass_nothing(tmp_path):
    printed, results, _ = finished(tmp_path / "home", *TEXT)
    header = printed.splitlines()[0]
    assert "display@2" in header
    assert "pass@" not in header
    for row in results["rows"]:
        assert row["pass_at"] is row["pass_se"] is None
        assert row["display"]["cases"] > 0
        assert row["completion_nll"] > 0
    assert {claim["name"] for claim in results["claims"]} == {"unmasked-displays", "point-near-oracle"}
