"""The leakage audit: documents, samples and guesses are seen nowhere but below the restricted root."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import copy_home, records, run_cli
from own_corpus import OwnCorpus
from sabotage import sabotaged
from search import found_in, search

from sm_ops.stages import AUDIT_FLOW


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> OwnCorpus:
    return OwnCorpus(tmp_path_factory.mktemp("corpus") / "data")


def seen(done, home: Path, own: OwnCorpus) -> list[str]:
    """Every place outside the restricted root where something of the documents stands."""
    said = [f"value {n} as {form} on standard output" for n, form in found_in(done.stdout.encode(), own.values)]
    said += [f"value {n} as {form} on standard error" for n, form in found_in(done.stderr.encode(), own.values)]
    return said + search(home, own.values, without=[home / "restricted"])


@pytest.fixture(scope="module")
def succeeded(own, tmp_path_factory) -> Path:
    """A home after a success through the plain door."""
    home = tmp_path_factory.mktemp("leak") / "home"
    done = run_cli("run", str(own.config), home=home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, own) == []
    return home


def test_success_and_where_the_values_are(succeeded, own):
    made = {record["stage"] for record in records(succeeded).values()}
    assert {stage.name for stage in AUDIT_FLOW} <= made
    hits = search(succeeded / "restricted", own.values)
    assert any(" as raw" in hit for hit in hits), "the values were in the run"


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(s.name, marks=[] if s.name in ("audit_attack", "audit_train") else pytest.mark.slow)
        for s in AUDIT_FLOW
    ],
)
def test_failure_in_each_stage(stage, succeeded, own, tmp_path):
    source = sabotaged(stage, "value", own.values[:3], tmp_path / "source")
    home = copy_home(succeeded, tmp_path / "home")
    done = run_cli("run", str(own.config), home=home, source=source)
    assert done.returncode == 1, done.stderr
    assert seen(done, home, own) == []
    logs = [hit for hit in search(home / "restricted" / "logs", own.values) if hit.startswith("value 0 as raw")]
    assert logs, "the failure was reached, and its text is in the restricted log alone"


def test_success_by_prefect(succeeded, own, tmp_path):
    home = copy_home(succeeded, tmp_path / "home", without="audit_measure")
    done = run_cli("run", str(own.config), "--orchestrate", home=home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, own) == []


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
