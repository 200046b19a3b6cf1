from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fake_sanitize
import pytest
from fake_sanitize import UNDEFINED, value
from test_html import parsed, svgs

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.report.suitability.collect import SETTINGS, collect
from sm_ops.report.suitability.html import lines, write
from sm_ops.report.surprise.results import load_results

pytestmark = pytest.mark.unit


def separation(setting: str, validation: float, application: float | None, **more: Any) -> dict[str, Any]:
    def side(area: float) -> dict[str, Any]:
        return {"auroc": value(area), "roc": {"fpr": [0.0, 0.09, 0.2, None], "tpr": [0.0, 0.6, area, None]}}

    sides = {"validation": side(validation), "application": None if application is None else side(application)}
    return {"setting": setting, "unit": "tokens", "score": "surprise", **sides, **more}


def run(home: Path, name: str, *separations: dict[str, Any], at: int = 0, **content: Any) -> Run:
    """A finished run with results; `at` orders runs in time."""
    made = Run(home / "runs" / f"{name}-{at:012x}", name, {}, {}, "2026-01-02T03:04:05+00:00")
    saved = {"format": "run/1", "name": name, "config": {}, "steps": {}, "finished": made.finished}
    fs.write_json(made.folder / "run.json", saved)
    os.utime(made.folder / "run.json", (at, at))
    fs.write_json(made.folder / "results.json", {"separations": list(separations), **content})
    return made


def by_setting(home: Path) -> dict[str, dict[str, Any]]:
    return {row["setting"]: row for row in collect(home)["rows"]}


def test_the_newest_run_of_a_name_counts(tmp_path: Path) -> None:
    run(tmp_path, "mine", separation("creddata", 0.9, 0.88), at=1)
    newer = run(tmp_path, "mine", separation("creddata", 0.7, 0.69), at=2)
    run(tmp_path, "other", separation("creddata", 0.6, 0.6), at=1)
    rows = collect(tmp_path)["rows"]
    assert [(row["name"], row["auroc"]["validation"]["value"]) for row in rows] == [("mine", 0.7), ("other", 0.6)]
    assert rows[0]["run"] == newer.id


def test_absent_settings_are_named_and_own_ones_follow_the_papers(tmp_path: Path) -> None:
    run(tmp_path, "a", separation("tickets", 0.8, None), separation("citations", 0.5, 0.5))
    bare = run(tmp_path, "b")
    found = collect(tmp_path)
    assert [row["setting"] for row in found["rows"]] == ["citations", "tickets"]
    assert len(SETTINGS) == 11
    assert found["absent"] == [title for name, title in SETTINGS.items() if name != "citations"]
    assert found["without"] == [bare.id]


@pytest.mark.parametrize(
    ("validation", "application", "flagged"),
    [(0.85, 0.78, True), (0.66, 0.70, True), (0.91, 0.89, False), (0.9, None, False)],
)
def test_a_gap_beyond_three_hundredths_is_flagged(
    tmp_path: Path, validation: float, application: float | None, flagged: bool
) -> None:
    run(tmp_path, "a", separation("code_quirks", validation, application))
    found = collect(tmp_path)
    assert found["rows"][0]["flagged"] is flagged
    told = [line for line in lines(found) if line.startswith("gap: ")]
    assert len(told) == flagged
    if flagged:
        assert ("overstates" if validation > application else "understates") in told[0]


def test_coverage_is_read_off_the_curve_where_a_run_names_no_rate(tmp_path: Path) -> None:
    run(tmp_path, "a", separation("redac_bench", 0.95, 0.9))
    attainable = by_setting(tmp_path)["redac_bench"]["attainable"]
    assert attainable["collateral"] == 0.1
    assert attainable["application"]["value"] == 0.6, "the point at 20 % is beyond the acceptable 10 %"


@pytest.mark.parametrize(
    ("application", "decision"), [(value(0.95), "costly"), (value(0.45), "inverted"), (UNDEFINED, "undefined")]
)
def test_a_run_without_a_verdict_gets_one(tmp_path: Path, application: dict[str, Any], decision: str) -> None:
    own = separation("rat_bench", 0.9, 0.9)
    own["application"]["auroc"] = application
    run(tmp_path, "a", own)
    assert by_setting(tmp_path)["rat_bench"]["verdict"]["decision"] == decision


def test_a_runs_own_verdict_stands(tmp_path: Path) -> None:
    given = {"decision": "suitable", "reason": "It covers 99 %."}
    run(tmp_path, "a", separation("dead_code", 0.99, 0.99, verdict=given))
    found = collect(tmp_path)
    assert "Dead code poisoning, surprise: suitable. It covers 99 %." in list(lines(found))


def test_a_high_auroc_with_a_poor_f1_is_said(tmp_path: Path) -> None:
    f1 = {"validation": value(0.5), "application": value(0.47)}
    run(tmp_path, "a", separation("creddata", 0.9, 0.9, f1=f1), separation("code_pii", 0.9, 0.9))
    [told] = [line for line in lines(collect(tmp_path)) if line.startswith("note: ")]
    assert "CredData" in told
    assert "0.900 is high and the F1 of 0.470" in told


def test_the_main_job_separates_on_validation_and_where_it_trained(tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    found = {each["reference"]: each for each in results["separations"]}
    assert found.keys() == {"ngram", "tiny"}
    assert {each["setting"] for each in found.values()} == {"code_pii"}
    assert found["tiny"]["score"] == "global n=4 k=4"
    assert found["tiny"]["application"]["auroc"] == {"value": 0.91, "low": 0.85, "high": 0.96}
    assert found["tiny"]["f1"]["application"]["value"] == 0.7
    assert found["ngram"]["application"] is None, "only the chosen reference is applied"
    assert found["ngram"]["verdict"]["decision"] == "inverted"
    assert found["tiny"]["usd_per_million"] == pytest.approx(0.1), "36 s at 5 USD an hour for half a million tokens"


def test_page_and_files(tmp_path: Path) -> None:
    fake = fake_sanitize.make(tmp_path)
    own = separation("<tickets>", 0.9, 0.8, usd_per_million=0.25, usd_from="a machine")
    fs.write_json(fake.run.folder / "results.json", {"separations": [own, separation("creddata", 0.9, 0.89)]})
    found = collect(tmp_path)
    folder = tmp_path / "page"
    page = write(found, folder).read_text("utf-8")
    text = parsed(page).text
    assert "<script" not in page.lower()
    [figure] = svgs(page)
    for told in ("&lt;tickets&gt; (tokens)", "CredData (tokens)", "surprise: 0.90 / 0.89"):
        assert told in figure
    assert figure.count("stroke-dasharray") == 2 * 3, "validation, chance and the acceptable rate of two settings"
    for told in ("Fabricated citations", "0.25", "validation overstates", "⚑"):
        assert told in text
    with (folder / "curves.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * 3, "two settings, two sides, three defined points"
    with (folder / "suitability.csv").open(encoding="utf-8") as file:
        assert [row["auroc_application_value"] for row in csv.DictReader(file)] == ["0.89", "0.8"]
    assert json.loads((folder / "suitability.json").read_text("utf-8")) == found
    assert (folder / "suitability.svg").read_text("utf-8") == figure


def test_a_home_without_separations_is_refused(tmp_path: Path) -> None:
    run(tmp_path, "a")
    with pytest.raises(InputError, match="measured how well a score separates"):
        collect(tmp_path)


def test_damaged_results_are_refused(tmp_path: Path) -> None:
    made = run(tmp_path, "a", separation("creddata", 0.9, 0.9))
    (made.folder / "results.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match="is damaged"):
        collect(tmp_path)
