"""A run that ends with a release: built, checked, found again; and what of the run may be in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from driving import ROOT, SMALLEST, copy_source, records, run_cli

from sm_ops.core import fs
from sm_ops.leaks import find_leaks

ABOUT = "{title: Planted, description: Functions with planted values., licence: CC0-1.0}"
NOT_PASSED = 3


def run(home: Path, about: str = ABOUT, source: Path = ROOT) -> CompletedProcess[str]:
    wanted = ("--set", "release.build=true", "--set", f"release.about={about}")
    return run_cli("run", str(SMALLEST), "--jobs", "1", *wanted, home=home, source=source)


@pytest.fixture(scope="module")
def released(finished_home, tmp_path_factory) -> tuple[Path, CompletedProcess[str]]:
    """A home in which the smallest pipeline ran and was released, and what the command said."""
    home = tmp_path_factory.mktemp("released") / "home"
    shutil.copytree(finished_home, home)
    return home, run(home)


@pytest.fixture
def copied(released, tmp_path, monkeypatch) -> Path:
    """A copy of that home, which a test may change; its runs count as tracked where the first home's were."""
    shutil.copytree(released[0], tmp_path / "home")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{released[0] / 'mlflow.db'}")
    (tmp_path / "about.yaml").write_text(ABOUT)
    return tmp_path / "home"


def bundle_of(home: Path) -> Path:
    (folder,) = (home / "releases").glob("smallest@*")
    return folder


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_it_is_built_and_checked_and_a_failed_check_is_the_exit_code(released):
    home, done = released
    folder = bundle_of(home)
    (run_folder,) = (home / "runs").iterdir()
    assert folder.name == run_folder.name.replace("-", "@")
    assert {"manifest.json", "checks.json", "README.md", "report.html"} <= {path.name for path in folder.iterdir()}
    assert done.returncode == NOT_PASSED  # eight canaries show too little, and two sources' licences are not told
    assert f"release: {folder.name}, checked (fail): {folder}" in done.stdout
    assert done.stderr.splitlines()[-1].startswith(f"sm-ops: {folder.name} does not pass canaries, provenance; see ")
    assert "Traceback" not in done.stderr


def test_the_second_run_finds_it_and_says_the_same(released):
    home, first = released
    before = fs.content_hash(home / "releases")
    second = run(home)
    assert (second.returncode, second.stdout) == (first.returncode, first.stdout)
    assert second.stderr.splitlines()[-1] == first.stderr.splitlines()[-1]
    assert fs.content_hash(home / "releases") == before


def test_one_that_passes_tells_how_two_people_let_it_out(copied, tmp_path):
    """Here under a policy that asks for little else."""
    source = copy_source(tmp_path / "source")
    shutil.rmtree(copied / "releases")
    (source / "configs/release_policy.yaml").write_text("format: policy/1\nchecks: {schema: {}}\n")
    done = run(copied, source=source)
    assert done.returncode == 0, done.stderr
    folder = bundle_of(copied)
    told = done.stdout.splitlines()
    at = told.index(f"release: {folder.name}, checked (pass): {folder}")
    assert "one person asks and 2 others approve, privacy among their roles" in told[at + 1]
    verbs = ("key new", "key add", f"request {folder.name}", f"approve {folder.name}", f"publish {folder.name}")
    for line, verb in zip(told[at + 2 : at + 7], verbs, strict=True):
        assert line.startswith(f"  sm-ops release {verb}")
    assert len(told) == at + 9
    assert told[-1].startswith(f"next: sm-ops release request {folder.name} ")
    again = run(copied, source=source)
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_a_release_that_was_built_and_not_checked_is_checked(copied):
    name = bundle_of(copied).name
    shutil.rmtree(copied / "releases")
    run_cli("release", "build", name, "--about", "about.yaml", home=copied)
    assert not (copied / "releases" / name / "checks.json").exists()
    done = run(copied)
    assert f"release: {name}, checked (fail)" in done.stdout
    assert (copied / "releases" / name / "checks.json").is_file()


def test_the_text_is_the_stages_and_nothing_of_it_has_the_known_values(released):
    home, _ = released
    made = {name: home / root / "redact" for name, root in (("redacted", "store"), ("places", "restricted"))}
    (redacted,), (places,) = (list(folder.glob(f"*/{name}.jsonl")) for name, folder in made.items())
    folder = bundle_of(home)
    assert (folder / "data/train.jsonl").read_bytes() == redacted.read_bytes()
    (train,) = (home / "restricted/synthesize").glob("*/train.jsonl")
    (canaries,) = (home / "restricted/synthesize").glob("*/canaries.jsonl")
    origin = json.loads((home / "restricted/releases" / f"{folder.name}.json").read_text())
    assert [home / path for path in origin["sources"].values()] == [train]
    assert [home / path for path in origin["places"].values()] == [places]
    assert canaries in {home / path for path in origin["values"]}
    values = {row["value"] for row in read(canaries)}
    assert values
    assert find_leaks([folder], values, []).findings == []
    assert str(home) not in "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def test_the_lineage_is_the_chain_of_the_stored_records(released):
    home, _ = released
    stored = records(home)
    steps = json.loads((bundle_of(home) / "lineage.json").read_text())["steps"]
    names = [step["step"] for step in steps]
    assert names[0] == "synthesize"
    assert names[-2:] == ["redact", "release"]
    assert {"audit", "base", "score@tiny", "calibrate", "mask"} <= set(names)
    known: set[str] = set()
    for step in steps[:-1]:
        record = stored[step["step"]]
        assert step["fingerprint"] == record["fingerprint"]
        assert step["outputs"] == {name: output["sha256"] for name, output in record["outputs"].items()}
        assert set(step["inputs"].values()) <= known
        known |= set(step["outputs"].values())
    assert steps[-1]["inputs"] == {"redacted.jsonl": stored["redact"]["outputs"]["redacted.jsonl"]["sha256"]}
    assert fs.file_hash(bundle_of(home) / "data/train.jsonl") in known


def test_other_words_are_another_version(copied):
    first = bundle_of(copied).name
    done = run(copied, ABOUT.replace("Planted", "Named otherwise"))
    assert sorted(path.name for path in (copied / "releases").glob("smallest@*")) == [first, f"{first}.2"]
    assert f"release: {first}.2, checked (fail)" in done.stdout


def test_a_run_is_released_by_hand_under_any_name(copied):
    done = run_cli("release", "build", "mine@1.0", "--run", "smallest", "--about", "about.yaml", home=copied)
    assert (done.returncode, done.stdout) == (0, f"{copied}/releases/mine@1.0\n"), done.stderr
    said = json.loads((copied / "releases/mine@1.0/config.json").read_text())
    assert said["about"]["title"] == "Planted"
    assert said["pipeline"]["masking"]["targets"] == [0.5, 0.95]


def test_names_of_the_owner_s_files_stay_at_home(copied):
    (path,) = (copied / "runs").glob("*/run.json")
    value = json.loads(path.read_text())
    value["config"]["data"]["own"] = {"train": "clients of Acme/train.jsonl", "calibration": None}
    value["config"]["references"]["tiny"]["fit"] = "/srv/mina.krollberg/texts.jsonl"
    path.write_text(json.dumps(value))
    done = run_cli("release", "build", "mine@1.0", "--about", "about.yaml", home=copied)
    assert done.returncode == 0, done.stderr
    for file in (copied / "releases/mine@1.0").rglob("*"):
        text = file.read_bytes() if file.is_file() else b""
        assert b"Acme" not in text
        assert b"krollberg" not in text


def test_a_run_without_the_stage_or_without_words_is_refused(copied):
    (path,) = (copied / "runs").glob("*/run.json")
    value = json.loads(path.read_text())
    assert value["config"]["release"].pop("about") is not None
    path.write_text(json.dumps(value))
    done = run_cli("release", "build", "mine@1.0", home=copied)
    assert done.returncode == 2
    assert "--about" in done.stderr
    del value["steps"]["redact"]
    path.write_text(json.dumps(value))
    done = run_cli("release", "build", "mine@1.0", "--about", "about.yaml", home=copied)
    assert done.returncode == 2
    assert "run the pipeline again" in done.stderr
    assert not (copied / "releases/mine@1.0").exists()


def test_the_packages_are_a_valid_bill_of_materials(released):
    import numpy
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    folder = bundle_of(released[0])
    text = (folder / "packages.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    found = {each["name"]: each["version"] for each in json.loads(text)["components"]}
    assert found["numpy"] == numpy.__version__
    assert json.loads(text)["metadata"]["component"]["name"] == folder.name
