"""The PII pipeline: documents, completions and mappings are seen nowhere but below the restricted root."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from doors import call, dvc_repository
from driving import copy_home, records, run_cli
from own_documents import OwnDocuments
from sabotage import sabotaged
from search import found_in, search

from sm_ops.stages import PII
from sm_ops.vault import Vault


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> OwnDocuments:
    return OwnDocuments(tmp_path_factory.mktemp("documents") / "data")


def seen(done, home: Path, own: OwnDocuments) -> list[str]:
    """Every place outside the restricted root where something of the documents stands; the vault is searched too."""
    said = [f"value {n} as {form} on standard output" for n, form in found_in(done.stdout.encode(), own.values)]
    said += [f"value {n} as {form} on standard error" for n, form in found_in(done.stderr.encode(), own.values)]
    repository = home.parent / "repository"
    hits = search(home, own.values, without=[home / "restricted"])
    return said + hits + search(repository, own.values, without=[repository / "out" / "restricted"])


@pytest.fixture(scope="module")
def succeeded(own, tmp_path_factory) -> Path:
    """A home after a success through the plain door."""
    home = tmp_path_factory.mktemp("leak") / "home"
    done = run_cli("run", str(own.config), home=home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, own) == []
    return home


def test_success_and_where_the_values_are(succeeded, own):
    assert {record["stage"] for record in records(succeeded).values()} == {stage.name for stage in PII}
    restricted = search(succeeded / "restricted", own.values)
    unseen = [n for n in range(len(own.values)) if not any(hit.startswith(f"value {n} as raw") for hit in restricted)]
    assert unseen == [], "the values were in the run"


def test_the_mappings_are_in_the_vault_and_come_back(succeeded, own, monkeypatch):
    monkeypatch.setenv("SM_OPS_HOME", str(succeeded))
    vault = Vault()
    step = records(succeeded)["pii_mask@regex"]
    told = json.loads((succeeded / "store" / "pii_mask" / step["fingerprint"][:16] / "vault.json").read_text())
    kept = {value for _, value in vault.values(told["dataset"])}
    assert kept == {value for value in own.values if "@" in value and value in texts_of_the_test(own)}
    opened = [path for path in (succeeded / "vault").rglob("*") if path.is_file()]
    assert not any(found_in(path.read_bytes(), own.values) for path in opened)


def texts_of_the_test(own: OwnDocuments) -> str:
    return (own.config.parent / "test.jsonl").read_text(encoding="utf-8")


def test_doctor_finds_nothing_after_a_run_and_what_is_planted(succeeded, own, tmp_path):
    home = copy_home(succeeded, tmp_path / "home")
    with_values = run_cli("vault", "add", "planted", str(_known(own, tmp_path)), home=home)
    assert with_values.returncode == 0, with_values.stderr
    clean = run_cli("doctor", "--leaks", home=home)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    (home / "mlartifacts" / "note.txt").write_text(f"see {own.values[0]}", encoding="utf-8")
    found = run_cli("doctor", "--leaks", home=home)
    assert found.returncode == 3
    assert "note.txt" in found.stdout
    assert not found_in((found.stdout + found.stderr).encode(), own.values)


def _known(own: OwnDocuments, folder: Path) -> Path:
    path = folder / "known.tsv"
    path.write_text("".join(f"PERSON\t{value}\n" for value in own.values), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "stage",
    [pytest.param(s.name, marks=[] if s.name in ("pii_mask", "pii_tune") else pytest.mark.slow) for s in PII],
)
def test_failure_in_each_stage(stage, succeeded, own, tmp_path):
    source = sabotaged(stage, "value", own.values[:3], tmp_path / "source")
    home = copy_home(succeeded, tmp_path / "home")
    done = run_cli("run", str(own.config), home=home, source=source)
    assert done.returncode == 1, done.stderr
    assert seen(done, home, own) == []
    logs = [hit for hit in search(home / "restricted" / "logs", own.values) if hit.startswith("value 0 as raw")]
    assert logs, "the failure was reached, and its text is in the restricted log alone"


@pytest.mark.slow
def test_success_by_prefect(succeeded, own, tmp_path):
    home = copy_home(succeeded, tmp_path / "home", without="pii_evaluate")
    done = run_cli("run", str(own.config), "--orchestrate", home=home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, own) == []


@pytest.mark.slow
def test_success_by_dvc_keeps_mappings_and_texts_out_of_its_cache(succeeded, own, tmp_path):
    home = copy_home(succeeded, tmp_path / "home", without="pii_evaluate")
    repository = tmp_path / "repository"
    dvc_repository(repository, own.config, home)
    done = call(["dvc", "--wait-for-lock", "repro", "--verbose"], repository, home)
    assert done.returncode == 0, done.stderr
    assert seen(done, home, own) == []
    tracked = "".join(path.read_text() for path in repository.glob("dvc.*"))
    assert "vault.json" in tracked
    assert "vault.key" not in tracked


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: row.replace('"text"', '"txet"', 1),
        lambda row: row[:-1],
        lambda row: row.replace('"end": ', '"end": 9999', 1),
        lambda row: row.replace('"PERSON"', '"HUMAN"', 1),
    ],
)
def test_refused_documents_are_told_without_their_values(damage, tmp_path):
    own = OwnDocuments(tmp_path / "data")
    path = tmp_path / "data" / "train.jsonl"
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[0], damage(rows[1]), *rows[2:]]))
    home = tmp_path / "home"
    done = run_cli("run", str(own.config), home=home)
    assert done.returncode == 2, done.stderr
    assert "line 2" in done.stderr or "record 1" in done.stderr
    assert seen(done, home, own) == []
