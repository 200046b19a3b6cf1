"""The smallest pipeline with detectors among its conditions: they are in every table and figure, like the others."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from driving import SMALLEST, records, run_cli

pytestmark = pytest.mark.slow
CONDITIONS = ["base", "unmasked", "oracle", "SM50", "SM95", "random95", "goldfish2", "goldfish3", "regex", "my-keys"]
SETTINGS = (
    "masking.baselines={random: [0.95], goldfish: [2, 3]}",
    "masking.detectors={regex: {detector: regex}, my-keys: {detector: shapes, settings: {threshold: 0.5}}}",
)


def options(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> SimpleNamespace:
    home = tmp_path_factory.mktemp("detectors") / "home"
    done = run_cli("run", str(SMALLEST), "--jobs", "1", *options(*SETTINGS), home=home)
    assert done.returncode == 0, done.stderr
    (folder,) = (home / "runs").iterdir()
    return SimpleNamespace(home=home, folder=folder, out=done.stdout, results=read(folder / "results.json"))


def read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_table_and_figure_has_them(finished):
    assert [row["condition"] for row in finished.results["rows"]] == CONDITIONS
    assert {row["condition"] for row in finished.results["per_seed"]} == {*CONDITIONS}
    for row in finished.results["rows"][-2:]:
        assert row["budget_tokens"] is not None
        assert row["nll"] > 0
        assert row["extraction_approx"]["n"] > 0
        assert row["on_frontier"] in (True, False)
    assert [row["condition"] for row in table(finished.folder / "rows.csv")] == CONDITIONS
    for figure in ("frontier.svg", "report.html"):
        assert all(f">{name}<" in (finished.folder / figure).read_text() for name in ("regex", "my-keys"))
    assert "my-keys" in finished.out


def test_what_chose_and_what_is_covered_stands_beside_the_operating_points(finished):
    records_ = records(finished.home)["mask"]
    stored = finished.home / "store" / "mask" / records_["fingerprint"][:16]
    about, coverage = read(stored / "detectors.json"), read(stored / "coverage.json")
    rows = {row["condition"]: row for row in finished.results["detectors"]}
    assert rows.keys() == about.keys() == {"regex", "my-keys"}
    for name, row in rows.items():
        assert (row["detector"], row["chosen"], row["target"], row["tau"]) == (about[name]["detector"], "own", None, 0)
        assert row["training_coverage"] == coverage[name]["target_coverage"]
        assert row["training_collateral"] == coverage[name]["collateral_rate"]
        assert row["validation_coverage"] == about[name]["validation"]["target_coverage"]
    assert rows["my-keys"]["detector"] == "shapes"
    assert [row["condition"] for row in table(finished.folder / "detectors.csv")] == ["regex", "my-keys"]


def test_a_run_again_finds_everything_and_another_name_for_equal_findings_is_not_trained_again(finished):
    listed = run_cli("show", "--config", str(SMALLEST), *options(*SETTINGS), home=finished.home)
    assert listed.returncode == 0, listed.stderr
    assert "would run" not in listed.stdout
    more = SETTINGS[1].replace("}}}", "}}, third: {detector: regex, settings: {threshold: 0.9}}}")
    done = run_cli("run", str(SMALLEST), "--jobs", "1", *options(SETTINGS[0], more), home=finished.home)
    assert done.returncode == 0, done.stderr
    made = {line.split("]")[1].split()[0] for line in done.stderr.splitlines() if line.startswith("[")}
    found = {line.split("]")[1].split()[0] for line in done.stderr.splitlines() if " found " in line}
    assert {"train@third-0", "attack@third-0", "evaluate@third-0"} < found, "an equal mask is trained on once"
    assert made - found == {"detect@third", "mask", "redact"}, "thresholds are the same, and one file holds all masks"


def test_a_wrong_setting_of_a_detector_is_told_by_its_step(finished):
    wrong = "masking.detectors={regex: {detector: regex, settings: {treshold: 0.9}}}"
    done = run_cli("run", str(SMALLEST), "--jobs", "1", *options(wrong), home=finished.home)
    assert done.returncode == 2
    assert "The detector 'regex' has no setting 'treshold'; the nearest is threshold." in done.stderr
    assert "Traceback" not in done.stderr
