"""On real corpora: surprise finds credentials in code, is no filter for broad PII, and a high AUROC is no good cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import ROOT, run_cli

SHARED = ROOT.parent / "shared" / "data"
CORPORA = {  # file, and what must not be on both sides
    "creddata": ("creddata_subset/creddata_open.jsonl", "repo"),
    "tab": ("tab_echr_144/tab_open.jsonl", "id"),
    "presidio": ("presidio_synthetic/presidio_open.jsonl", "template_id"),
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the public corpora are not beside this checkout"),
]


def halves(name: str, folder: Path) -> list[str]:
    """The rows of a corpus, unchanged, in two files without a common group; as `--set` of its sides."""
    file, key = CORPORA[name]
    rows = [json.loads(line) for line in (SHARED / file).read_text("utf-8").splitlines()]
    groups = sorted({str(row[key]) for row in rows})
    settings = []
    for number, side in enumerate(("validation", "records")):
        own = {*groups[number::2]}
        path = folder / f"{name}-{side}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows if str(row[key]) in own), "utf-8")
        settings += ["--set", f"corpus.{side}={path}"]
    return settings


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("honest")
    home = folder / "home"
    for name in CORPORA:
        done = run_cli("run", "sanitize_tiny", "--set", f"name={name}", *halves(name, folder), "--jobs", "1", home=home)
        assert done.returncode == 0, done.stderr
    said = run_cli("report", "--suitability", "--json", home=home)
    assert said.returncode == 0, said.stderr
    return {row["name"]: row for row in json.loads(said.stdout)["rows"]}


def test_credentials_in_code_are_separated_well(found: dict[str, dict[str, Any]]) -> None:
    for side in ("validation", "application"):
        assert found["creddata"]["auroc"][side]["value"] > 0.8
    # resampled repositories: ten a side, of which one holds a third of all targets
    assert found["creddata"]["auroc"]["application"]["low"] > 0.7


def test_broad_pii_is_separated_poorly(found: dict[str, dict[str, Any]]) -> None:
    for name in ("tab", "presidio"):
        own = found[name]
        assert own["auroc"]["application"]["value"] < 0.8
        assert own["attainable"]["application"]["value"] < 0.5, "of the targets, at a tenth of all other content"
        assert own["auroc"]["application"]["value"] < found["creddata"]["auroc"]["application"]["value"] - 0.08
        assert own["verdict"]["decision"] == "costly"


def test_a_high_auroc_goes_with_a_poor_f1(found: dict[str, dict[str, Any]]) -> None:
    own = found["creddata"]
    assert own["auroc"]["application"]["value"] > 0.8
    assert own["f1"]["application"]["value"] < 0.6
    # a corpus of which a third is targets has the better F1 under the worse ranking
    assert found["presidio"]["f1"]["application"]["value"] > own["f1"]["application"]["value"]
    assert found["presidio"]["auroc"]["application"]["value"] < own["auroc"]["application"]["value"]


def test_validation_told_it_before(found: dict[str, dict[str, Any]]) -> None:
    for own in found.values():
        assert abs(own["gap"]) < 0.06
        assert own["flagged"] == (abs(own["gap"]) > 0.03)
