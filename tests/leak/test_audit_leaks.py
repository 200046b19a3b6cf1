"""The leakage audit: documents, samples and guesses are seen nowhere but below the restricted root."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import copy_home, records, run_cli
from own_corpus import OwnCorpus
from sabotage import sabotaged
from search import found_in, search

from sm_ops.stages import AUDIT_FLOW


def seen(done, home: Path, own: OwnCorpus) -> list[str]:
    """Every place outside the restricted root where something of the documents stands."""
    said = [f"value {n} as {form} on standard output" for n, form in found_in(done.stdout.encode(), own.values)]
    said += [f"value {n} as {form} on standard error" for n, form in found_in(done.stderr.encode(), own.values)]
    return said + search(home, own.values, without=[home / "restricted"])


def test_success_and_where_the_values_are(audited):
    assert seen(audited.done, audited.home, audited.own) == []
    made = {record["stage"] for record in records(audited.home).values()}
    assert {stage.name for stage in AUDIT_FLOW} <= made
    hits = search(audited.home / "restricted", audited.own.values)
    assert any(" as raw" in hit for hit in hits), "the values were in the run"


@pytest.mark.parametrize(
    "stage",
    [pytest.param(s.name, marks=[] if s.name == "audit_attack" else pytest.mark.slow) for s in AUDIT_FLOW],
)
def test_failure_in_each_stage(stage, audited, tmp_path):
    own = audited.own
    source = sabotaged(stage, "value", own.values[:3], tmp_path / "source")
    home = copy_home(audited.home, tmp_path / "home")
    done = run_cli("run", str(own.config), home=home, source=source)
    assert done.returncode == 1, done.stderr
    assert seen(done, home, own) == []
    logs = [hit for hit in search(home / "restricted" / "logs", own.values) if hit.startswith("value 0 as raw")]
    assert logs, "the failure was reached, and its text is in the restricted log alone"


@pytest.mark.slow
def test_success_by_prefect(audited, tmp_path):
    home = copy_home(audited.home, tmp_path / "home", without="audit_measure")
    done = run_cli("run", str(audited.own.config), "--orchestrate", home=home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, audited.own) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: row.replace('"text"', '"txet"', 1),
        lambda row: row[:-1],
        lambda row: row.replace('"end": ', '"end": 9999', 1),
    ],
)
def test_refused_documents_are_told_without_their_values(damage, tmp_path):
    own = OwnCorpus(tmp_path / "data")
    rows = own.path.read_text(encoding="utf-8").splitlines()
    own.path.write_text("\n".join([rows[0], damage(rows[1]), *rows[2:]]), encoding="utf-8")
    home = tmp_path / "home"
    done = run_cli("run", str(own.config), home=home)
    assert done.returncode == 2, done.stderr
    assert "line 2" in done.stderr
    assert seen(done, home, own) == []
