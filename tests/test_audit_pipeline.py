"""The leakage audit from documents to its report, as a user sees it."""

from __future__ import annotations

import json

import pytest
from driving import copy_home, run_cli

from sm_ops.core.home import Run
from sm_ops.core.registry import members

DEFENCES = ["undefended", "scrubbed", "dp", "deduplicated", "masked", "goldfish"]


@pytest.fixture(scope="module")
def steps(audited):
    (folder,) = (audited.home / "runs").iterdir()
    return Run.load(folder).steps


def test_the_first_run_tells_leakage_against_perplexity(audited, steps):
    rows = [line.split()[0] for line in audited.done.stdout.splitlines() if line.strip()]
    assert all(name in rows for name in ("base", *DEFENCES))
    assert steps["audit_data"]["numbers"]["documents"] == 12
    spent = steps["audit_train@dp-0"]["numbers"]
    assert 0 < spent["epsilon"] <= spent["target_epsilon"] == 8
    assert spent["delta"] == pytest.approx(1 / spent["records"])
    assert spent["unit"] == "record"


def test_defences_leave_what_they_should(steps):
    left = {name: steps[f"audit_prepare@{name}"]["numbers"]["records"] for name in DEFENCES}
    assert 3 * left["deduplicated"] == 2 * left["undefended"]  # every document says one of its two sentences twice
    assert left["scrubbed"] == left["masked"] == left["undefended"]


def test_a_class_that_nobody_labelled_is_refused_before_training(audited, tmp_path):
    home = copy_home(audited.home, tmp_path / "home")
    done = run_cli("run", str(audited.own.config), "--set", "classes=[PERSN]", home=home)
    assert done.returncode == 2
    assert "no labelled mention of PERSN" in done.stderr
    assert "there are PERSON" in done.stderr
    assert "audit_train" not in done.stderr


def test_the_second_run_finds_everything(audited):
    again = run_cli("run", str(audited.own.config), home=audited.home)
    assert again.returncode == 0
    assert all(" found " in line for line in again.stderr.splitlines() if line.startswith("["))
    assert again.stdout == audited.done.stdout


def test_no_document_is_in_two_splits(audited, steps):
    folder = audited.home / "restricted" / "audit_data" / steps["audit_data"]["fingerprint"][:16]
    splits = {
        name: [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("train", "others", "validation", "reference")
    }
    groups = [{row["group"] for row in rows} for rows in splits.values()]
    assert all(groups)
    assert sum(map(len, groups)) == len(set.union(*groups))


def test_every_attack_that_needs_no_canaries_is_measured_on_every_model(audited, steps):
    for cell in ("base", *DEFENCES):
        folder = audited.home / "store" / "audit_measure" / steps[f"audit_measure@{cell}-0"]["fingerprint"][:16]
        measured = json.loads((folder / "measures.json").read_text())
        assert set(measured) == set(members("attack")) - {"prefix_extraction"}
        assert all(each["measures"] and each["knowledge"] for each in measured.values())
