"""The leakage audit from documents to its report, as a user sees it."""

from __future__ import annotations

import json

import pytest
from driving import ROOT, records, run_cli

from sm_ops.core.registry import members

SMALLEST_AUDIT = ROOT / "tests" / "pipelines" / "audit_smallest.yaml"
DEFENCES = ["undefended", "scrubbed", "dp", "deduplicated", "masked", "goldfish"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    home = tmp_path_factory.mktemp("audit") / "home"
    done = run_cli("run", str(SMALLEST_AUDIT), home=home)
    assert done.returncode == 0, done.stderr
    return home, done


def test_the_first_run_tells_leakage_against_perplexity(finished):
    home, done = finished
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert all(name in rows for name in ("base", *DEFENCES))
    steps = records(home)
    assert steps["audit_data"]["numbers"]["documents"] == 10
    spent = steps["audit_train@dp-0"]["numbers"]
    assert 0 < spent["epsilon"] <= spent["target_epsilon"] == 8
    assert spent["delta"] == pytest.approx(1 / spent["records"])
    assert spent["unit"] == "record"


def test_the_second_run_finds_everything(finished):
    home, first = finished
    again = run_cli("run", str(SMALLEST_AUDIT), home=home)
    assert again.returncode == 0
    assert all(" found " in line for line in again.stderr.splitlines() if line.startswith("["))
    assert again.stdout == first.stdout


def test_no_document_is_in_two_splits_and_public_text_names_nobody_of_them(finished):
    home, _ = finished
    folder = home / "restricted" / "audit_data" / records(home)["audit_data"]["fingerprint"][:16]
    splits = {
        name: [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("train", "others", "validation", "reference")
    }
    groups = [{row["group"] for row in rows} for rows in splits.values()]
    assert sum(map(len, groups)) == len(set.union(*groups))
    named = {
        row["text"][span["start"] : span["end"]]
        for row in splits["train"]
        for span in row["spans"]
        if span["label"] in ("PERSON", "CODE")
    }
    public = "\n".join(row["text"] for row in splits["reference"])
    assert named
    assert not [name for name in named if name in public]


def test_every_attack_that_needs_no_canaries_is_measured_on_every_model(finished):
    home, _ = finished
    steps = records(home)
    for cell in ("base", *DEFENCES):
        folder = home / "store" / "audit_measure" / steps[f"audit_measure@{cell}-0"]["fingerprint"][:16]
        measured = json.loads((folder / "measures.json").read_text())
        assert set(measured) == set(members("attack")) - {"prefix_extraction"}
        assert all(each["measures"] and each["knowledge"] for each in measured.values())
