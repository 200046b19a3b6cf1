"""The PII pipeline from documents to its report, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import ROOT, records, run_cli

SMALLEST_PII = ROOT / "tests" / "pipelines" / "pii_smallest.yaml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    home = tmp_path_factory.mktemp("pii") / "home"
    done = run_cli("run", str(SMALLEST_PII), home=home)
    assert done.returncode == 0, done.stderr
    return home, done


def test_the_first_run_tells_the_table_the_claims_and_what_they_are_not(finished):
    home, done = finished
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows[2:5]] == ["regex", "base", "tuned_0"]
    assert "holds  Masking is deterministic and comes back whole." in done.stdout
    assert "Restoration is to the NFC form of the source" in done.stdout
    assert "leaks: none of" in done.stderr
    steps = records(home)
    assert steps["pii_generate"]["numbers"]["test_documents"] == 12
    assert steps["pii_mask@regex"]["numbers"]["restored"] == 12


def test_the_second_run_finds_everything(finished):
    home, first = finished
    again = run_cli("run", str(SMALLEST_PII), home=home)
    assert again.returncode == 0
    assert all(" found " in line for line in again.stderr.splitlines() if line.startswith("["))
    assert again.stdout == first.stdout


def test_the_numbers_are_the_evaluators(finished):
    home, _ = finished
    shown = json.loads(run_cli("report", "--json", home=home).stdout)
    regex = next(row for row in shown["rows"] if row["finder"] == "regex")
    step = records(home)["pii_evaluate@regex"]
    assert round(regex["f1"]["value"], 4) == step["numbers"]["f1"]
    low, high = regex["f1"]["low"], regex["f1"]["high"]
    assert low < regex["f1"]["value"] < high
    assert shown["documents"]["records"] == 12


def test_masked_documents_come_back_through_the_command_line(finished, tmp_path):
    home, _ = finished
    step = records(home)["pii_mask@regex"]
    folder = Path("pii_mask") / step["fingerprint"][:16]
    told = json.loads((home / "store" / folder / "vault.json").read_text())
    out = tmp_path / "restored.jsonl"
    masked = home / "restricted" / folder / "masked.jsonl"
    done = run_cli("pii", "restore", str(masked), "--vault", told["dataset"], "--out", str(out), home=home)
    assert done.returncode == 0, done.stderr
    test = records(home)["pii_generate"]["fingerprint"][:16]
    documents = (home / "restricted" / "pii_generate" / test / "test.jsonl").read_text(encoding="utf-8")
    sources = {row["id"]: row["source_text"] for row in map(json.loads, documents.splitlines())}
    restored = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert {row["id"]: row["text"] for row in restored} == sources


def test_a_leak_stops_the_run(finished, tmp_path):
    home, _ = finished
    test = records(home)["pii_generate"]["fingerprint"][:16]
    documents = (home / "restricted" / "pii_generate" / test / "test.jsonl").read_text(encoding="utf-8")
    values = [e["value"] for row in map(json.loads, documents.splitlines()) for e in row["entities"]]
    value = next(value for value in values if "@" in value)
    planted = home / "runs" / "note.txt"
    planted.write_text(value, encoding="utf-8")
    done = run_cli("run", str(SMALLEST_PII), home=home)
    planted.unlink()
    assert done.returncode == 3
    assert "note.txt" in done.stderr
    assert value not in done.stdout + done.stderr
