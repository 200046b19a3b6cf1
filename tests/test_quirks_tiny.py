"""configs/quirks_tiny.yaml, shrunken: two users' quirks come out of the unmasked model, and out of no masked one."""

from __future__ import annotations

import json

import pytest
from driving import ROOT, run_cli

CONFIG = ROOT / "configs" / "quirks_tiny.yaml"
SHRUNKEN = (
    "data.identities=2", "data.repetitions=30", "data.calibration_identities=2", "data.calibration_repetitions=3",
    "data.calibration_clean=2", "data.utility=10", "data.reference=100", "data.public_chars=0",
    "base.reference_repeats=8", "masking.targets=[0.5]", "masking.baselines={random: [], goldfish: []}",
    "masking.detectors={}", "train.epochs=8", "completions.max_tokens=80", "completions.temperature=0.7",
)  # fmt: skip


@pytest.mark.slow
def test_a_shrunken_run_shows_the_effect(tmp_path):
    home = tmp_path / "home"
    settings = [word for setting in SHRUNKEN for word in ("--set", setting)]
    done = run_cli("run", str(CONFIG), "--jobs", "2", *settings, home=home, timeout=900)
    assert done.returncode == 0, done.stderr
    (folder,) = (home / "runs").iterdir()
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    rows = {row["condition"]: row for row in results["rows"]}
    assert list(rows) == ["base", "unmasked", "oracle", "SM50"]
    display = {name: row["display"]["value"] for name, row in rows.items()}
    assert display["base"] == display["oracle"] == display["SM50"] == 0
    assert 0.02 < display["unmasked"] <= 0.2  # two of ten quirks
    cases = sum(row["n"] for row in results["by_quirk"] if row["condition"] == "unmasked")
    assert {row["display"]["cases"] for row in rows.values()} == {cases}
    shown = {row["quirk"]: row["k"] for row in results["by_quirk"] if row["condition"] == "unmasked"}
    assert shown["python_semicolons"] >= 3
    assert not any(k for quirk, k in shown.items() if quirk not in ("python_semicolons", "identifier_dialect"))
    assert all(row["pass_at"] is None and row["nll"] > 0 for row in rows.values())
    assert (folder / "report.html").is_file()
    assert "display" in done.stdout
