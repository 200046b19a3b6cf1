"""Figure 4 over all runs of a home: points, pooled correlations, the page and the command."""

from __future__ import annotations

import json
from math import exp
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fake_quirks
import fake_runs
import pytest
from calling import call_cli
from test_html import parsed, svgs

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.report.coverage.collect import collect, correlations
from sm_ops.report.coverage.html import write
from sm_ops.report.surprise.html import write_report
from sm_ops.report.surprise.results import load_results


def written(made: Any) -> Any:
    """The results alone, as a report leaves them."""
    fs.write_json(made.run.folder / "results.json", load_results(made.run, made.home))
    return made


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pretraining on values, fine-tuning on quirks, and a run without a report."""
    home = tmp_path_factory.mktemp("coverage") / "home"
    written(fake_runs.make_tiny(home, seeds=(0,)))
    written(fake_quirks.make(home, seeds=(0,)))
    fake_quirks.make(home, "scratch", seeds=(0,))
    return home


@pytest.mark.unit
def test_every_trained_condition_is_a_point(home: Path) -> None:
    found = collect(home)
    places = [(point["title"], point["regime"], point["condition"]) for point in found["points"]]
    assert places == [
        *(("Code PII", "pretraining", name) for name in ("unmasked", "oracle", "SM95", "random95")),
        *(("Code Quirks", "fine-tuning", name) for name in ("unmasked", "oracle", "SM20", "random20", "opf")),
    ]
    point = found["points"][6]
    assert (point["outcome"], point["outcome_rate"]["value"], point["pass_at"]["value"]) == ("display", 0.125, 0.5)
    assert (point["validation_coverage"], point["target_coverage"]) == (0.2, 0.25)
    assert [each.rpartition("-")[0] for each in found["without"]] == ["quirks_scratch"]
    by = {(each["regime"], each["measure"]): each for each in found["correlations"]}
    tuned = by["fine-tuning", "target_coverage"]
    assert (tuned["value"], tuned["points"], tuned["runs"]) == (pytest.approx(1.0), 2, 1), "SM20, and the detector"
    assert by["pretraining", "collateral_rate"]["value"] is None, "one point"


def point(run: str, before: float, after: float, regime: str = "fine-tuning") -> dict[str, Any]:
    return {
        "run": run, "regime": regime, "validation_coverage": before, "target_coverage": after,
        "validation_collateral": None, "collateral_rate": 0.1,
    }  # fmt: skip


@pytest.mark.unit
def test_correlations_are_pooled_within_a_regime_and_resample_runs() -> None:
    points = [point("a", 0.0, 0.1), point("a", 1.0, 0.9), point("b", 0.5, 0.8), point("c", 0.9, 0.2, "pretraining")]
    first, second, third, _ = correlations(points)
    # x = 0, 1, 0.5 about 0.5; y = 0.1, 0.9, 0.8 about 0.6: 0.4 / sqrt(0.5 * 0.38)
    assert first["value"] == pytest.approx(0.4 / 0.19**0.5)
    assert (first["points"], first["runs"], first["low"], first["high"]) == (3, 2, None, None), "two runs: no interval"
    assert (second["value"], second["points"]) == (None, 0)
    assert (third["regime"], third["value"], third["points"]) == ("pretraining", None, 1)
    many = [point(f"run{n}", x, x + 0.02 * n * (-1) ** round(10 * x)) for n in range(6) for x in (0.1, 0.4, 0.9)]
    pooled = next(correlations(many))
    assert pooled["runs"] == 6
    assert pooled["low"] < pooled["value"] < pooled["high"] <= 1.0


def test_the_page_shows_both_regimes(home: Path) -> None:
    found = collect(home)
    page = write(found, home / "coverage").read_text(encoding="utf-8")
    assert {path.name for path in (home / "coverage").iterdir()} == {
        "coverage.html", "coverage.svg", "coverage.json", "coverage.csv", "correlations.csv",
    }  # fmt: skip
    (picture,) = svgs(page)
    said = "".join(ElementTree.fromstring(picture).itertext())
    assert said.count("Code Quirks") == said.count("Code PII") == 3, "three panels each"
    assert said.count("not measured") == 1, "no pass@k on values"
    assert "prompts that show the quirk" in said
    assert "fine-tuning" in said
    text = parsed(page).text
    assert "over 0.92" in text
    assert "two points always lie on a line" in text
    assert "Runs without results: quirks_scratch-" in text
    assert fake_runs.SECRET not in page


def test_the_command(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SM_OPS_HOME", str(home))
    monkeypatch.chdir(home.parent)
    said = call_cli(monkeypatch, capsys, "report", "--coverage", "--out", "page", "--json")
    assert said.returncode == 0
    assert json.loads(said.stdout)["points"][0]["condition"] == "unmasked"
    assert (home.parent / "page" / "coverage.html").is_file()
    said = call_cli(monkeypatch, capsys, "report", "--coverage", "--suitability")
    assert (said.returncode, said.stdout) == (2, "")
    assert "give one of the two" in said.stderr


@pytest.mark.unit
def test_perplexity_is_that_of_answers_where_it_was_measured(home: Path, tmp_path: Path) -> None:
    """B.2: by hand, the oracle's answers have means of 1.2 and 1.3, so exp(1.25), an error of 0.05."""
    found = {point["condition"]: point for point in collect(home)["points"]}
    assert (found["SM95"]["nll_over"], found["SM95"]["perplexity"]["value"]) == ("tokens", pytest.approx(exp(1.1)))
    written(fake_quirks.make(tmp_path, "scratch", executed=False, answers=True))
    found = collect(tmp_path)
    (point,) = [each for each in found["points"] if each["condition"] == "oracle"]
    assert point["nll_over"] == "answers"
    assert point["perplexity"]["value"] == pytest.approx(exp(1.25))
    assert point["perplexity"]["error"] == pytest.approx(0.05 * exp(1.25))
    page = parsed(write(found, tmp_path / "page").read_text(encoding="utf-8")).text
    assert "3.49 ± 0.17" in page
    assert "answers to prompts, as in the paper" in page


@pytest.mark.unit
def test_a_home_without_runs_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sm-ops sweep"):
        collect(tmp_path)


def test_a_page_says_which_likelihood_it_takes(tmp_path: Path) -> None:
    made = fake_quirks.make(tmp_path / "home", "scratch", executed=False, answers=True)
    page = write_report(made.run, made.home).read_text(encoding="utf-8")
    text = parsed(page).text
    assert "NLL of answers" in text
    assert "held-out NLL" not in text
    assert "1.250 ± 0.050" in text, "the oracle's"
    assert "-7.4\xa0%" in text, "the oracle's 1.25 against 1.35"
    assert "Utility is the loss on right answers to held-out prompts; no downstream task was measured." in text
    assert any("NLL of right answers" in "".join(ElementTree.fromstring(each).itertext()) for each in svgs(page))


@pytest.mark.parametrize(("method", "executed"), [("lora", True), ("scratch", False)])
def test_a_run_without_canaries_has_its_page(tmp_path: Path, method: str, executed: bool) -> None:
    made = fake_quirks.make(tmp_path / "home", method, seeds=(0,), executed=executed)
    page = write_report(made.run, made.home).read_text(encoding="utf-8")
    text = parsed(page).text
    assert "Extraction by kind" not in text
    assert "attacker's budget" not in text
    assert "Display by quirk" in text
    assert ("Passing by family of tasks" in text) is executed
    assert ("pass@2" in text) is executed
    assert "Display was looked for in the first 2 answers to 6 cases of a condition (1 seed)" in text
    drawn = ["".join(ElementTree.fromstring(each).itertext()) for each in svgs(page)]
    frontiers = [each for each in drawn if "chance floor" in each]
    assert len(frontiers) == 1 + executed
    assert all("opf" in each and "prompts that show the quirk" in each for each in frontiers)
    names = {path.name for path in made.run.folder.iterdir()}
    assert {"table_4.csv", f"table_{9 if executed else 10}.csv", "by_quirk.csv", "detectors.csv"} <= names
    assert "canaries.csv" not in names, "empty tables have no file"
