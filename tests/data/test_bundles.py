"""Bundles: the paper's counts, exact spans, values evenly used, clean files behind the planting, and tests that run."""

from __future__ import annotations

import configparser
import csv
import io
import json
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml

from sm_ops.core import registry
from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.errors import InputError, StageError
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.audit import audit
from sm_ops.data.bundles import CLEAN, HOLDING, collect, settings_files
from sm_ops.data.dataset import Dataset, Trial
from sm_ops.data.datasets.executable_code_pii import generate, trials
from sm_ops.data.identities import KINDS, SLOTS
from sm_ops.data.planting import unplanted
from sm_ops.data.records import write_records
from sm_ops.evaluation import sandbox
from sm_ops.plans import plan
from sm_ops.steps import execute

SMALL = {
    "scale": None,
    "dataset": "executable_code_pii",
    "seed": 7,
    "identities": 2,
    "repetitions": 4,
    "calibration_identities": 1,
    "calibration_repetitions": 4,
    "utility": 3,
    "reference": 20,
    "form": "chat",
    "families": (),
    "solution_chars": None,
    "implementations": 0,
}


def settings(**changes: object) -> SimpleNamespace:
    return SimpleNamespace(**{**SMALL, **changes})


@pytest.fixture(scope="module")
def chats() -> Dataset:
    return generate(settings(), 7)


@pytest.fixture(scope="module")
def documents() -> Dataset:
    return generate(settings(form="text"), 7)


@pytest.mark.unit
def test_a_bundle_gives_18_chats_or_24_documents_of_which_16_hold_a_value(chats, documents):
    assert len(CLEAN) + len(HOLDING) == 24
    assert {split: len(records) for split, records in chats.splits.items()} == {
        "calibration": 18, "train": 2 * 18, "utility": 3 * 2, "reference": 20,
    }  # fmt: skip
    assert {split: len(records) for split, records in documents.splits.items()} == {
        "calibration": 24, "train": 2 * 24, "utility": 3, "reference": 20,
    }  # fmt: skip
    for dataset in (chats, documents):
        private = {split: sum(bool(r.spans) for r in records) for split, records in dataset.splits.items()}
        assert private == {"calibration": 16, "train": 32, "utility": 0, "reference": 0}


@pytest.mark.unit
@pytest.mark.parametrize("form", ["chats", "documents"])
def test_every_value_is_used_equally_often_and_labelled_exactly(form, request):
    dataset: Dataset = request.getfixturevalue(form)
    values = {canary.value.reveal(): (canary.group, canary.kind) for canary in dataset.canaries}
    assert len(values) == 2 * len(KINDS)
    uses: Counter[str] = Counter()
    for record in dataset.splits["train"]:
        for start, end, label in record.content_spans:
            value = record.content[start:end]
            uses[value] += 1
            assert values[value] == (record.group, label)
            assert record.content.count(value) == 1
    assert uses == dict.fromkeys(values, 4)


@pytest.mark.unit
def test_nothing_is_shared_and_equal_seeds_give_equal_data(chats, documents):
    assert audit(chats) == []
    assert audit(documents) == []
    assert generate(settings(), 7).splits == chats.splits
    assert generate(settings(), 8).splits["train"] != chats.splits["train"]


@pytest.mark.unit
def test_without_what_was_inserted_a_file_is_the_clean_one():
    made = collect(settings(), 7)
    for bundle in made.private:
        assert list(bundle.clean) == [*CLEAN, *HOLDING]
        assert Counter(planting.kind for planting in bundle.plantings) == dict.fromkeys(KINDS, 4)
        for planting in bundle.plantings:
            planted = planting.planted
            assert planted.text[planted.start : planted.end] == planting.value
            assert unplanted(planted.text, [planted.inserted]) == bundle.clean[planting.path]
        assert not [ask for ask in bundle.asks.values() for p in bundle.plantings if p.value in ask]


@pytest.mark.unit
def test_planted_settings_are_read_by_other_readers_than_those_of_the_bundle():
    bundle = next(collect(settings(), 7).private)
    texts, values = bundle.planted, {planting.path: planting.value for planting in bundle.plantings}
    ini = configparser.ConfigParser(interpolation=None)
    ini.read_string(texts["config/paths.ini"])
    read = {
        "config/app.json": json.loads(texts["config/app.json"])["application"],
        "config/features.yaml": yaml.safe_load(texts["config/features.yaml"])["features"],
        "deploy/compose.yaml": yaml.safe_load(texts["deploy/compose.yaml"])["services"]["report"]["environment"],
        "config/service.toml": tomllib.loads(texts["config/service.toml"])["service"],
        "config/paths.ini": dict(ini["paths"]),
        "config/client.xml": {
            part.get("name"): part.text for part in ElementTree.fromstring(texts["config/client.xml"])
        },
        "config/accounts.csv": dict(list(csv.reader(io.StringIO(texts["config/accounts.csv"])))[1:]),
    }
    for path, found in read.items():
        assert values[path] in found.values(), path


@pytest.mark.unit
@pytest.mark.parametrize("path", [path for path in HOLDING if path in settings_files.FORMS])
def test_a_planted_setting_never_takes_the_name_of_another(path):
    *taken, free = SLOTS["recovery"]
    planted = settings_files.plant(path, [(name, 3) for name in taken], "recovery", "k3Y", Random(0))
    (line,) = [line for line in planted.text.splitlines() if "k3Y" in line]
    assert free in line.lower()


@pytest.mark.unit
def test_clean_chats_hold_the_solution_alone_and_the_repair_shows_the_slip(chats):
    made = collect(settings(), 7)
    solutions = {bundle.task.solution: bundle.task for bundle in made.bundles["train"]}
    clean = [record for record in chats.splits["train"] if not record.spans]
    assert Counter(record.meta["form"] for record in clean) == {"phrasing 2": 2, "repair": 2}
    for record in clean:
        ask, answer = (message.content for message in record.messages or ())
        task = solutions[answer]
        assert record.group is None
        assert (task.faulty in ask) == (record.meta["form"] == "repair")
        assert task.solution not in ask


@pytest.mark.unit
def test_the_audit_sees_a_task_in_two_splits_and_a_value_beside_its_span(documents):
    train, calibration = documents.splits["train"], documents.splits["calibration"]
    moved = replace(calibration[0], meta=calibration[0].meta | {"host": train[0].meta["host"]})
    found = audit(replace_split(documents, "calibration", [moved, *calibration[1:]]))
    assert "shared-host-file" in {finding.check for finding in found}
    place = next(number for number, record in enumerate(train) if record.meta["file"] == "config/app.json")
    unlabelled = [*train[:place], replace(train[place], spans=(), group=None), *train[place + 1 :]]
    assert "unlabelled-value" in {finding.check for finding in audit(replace_split(documents, "train", unlabelled))}
    place = next(number for number, record in enumerate(train) if record.meta["file"] == "cli.py")
    broken = [*train[:place], replace(train[place], text=f"{train[place].text}\n)"), *train[place + 1 :]]
    assert "does-not-parse" in {finding.check for finding in audit(replace_split(documents, "train", broken))}


def replace_split(dataset: Dataset, split: str, records: list) -> Dataset:
    return replace(dataset, splits=dataset.splits | {split: records})


@pytest.mark.unit
@pytest.mark.parametrize("form", ["chat", "text"])
def test_implementations_are_clean_solutions_of_tasks_of_their_own(form):
    kept = {"form": form, "identities": 1, "reference": 2, "families": ("files_totals",), "solution_chars": 600}
    plain = generate(settings(**kept), 7)
    dataset = generate(settings(**kept, implementations=3), 7)
    assert {record.meta["family"] for record in dataset.records} == {"files_totals"}
    bundled = {record.meta["host"] for record in plain.records}
    added = [record for record in dataset.splits["train"] if record.meta["host"] not in bundled]
    assert len(added) == len({record.meta["host"] for record in added}) == 3
    assert len(dataset.splits["train"]) == len(plain.splits["train"]) + 3
    for record in added:
        assert not record.spans
        assert len(record.messages[-1].content if record.messages else record.content) <= 600
    rest = ("calibration", "utility", "reference")
    assert [dataset.splits[split] for split in rest] == [plain.splits[split] for split in rest]
    run = list(trials(dataset, settings(**kept, implementations=3), 7))
    assert sum(trial.state == "solution" for trial in run) == SMALL["utility"] + 3


@pytest.mark.unit
def test_repetitions_that_bundles_cannot_give_are_refused():
    with pytest.raises(InputError, match=r"data\.repetitions is 10.*4 times"):
        generate(settings(repetitions=10), 0)


@pytest.mark.slow
def test_scale_1_has_the_papers_numbers_and_nothing_in_common():
    for form, train, calibration in (("chat", 11_250, 540), ("text", 15_000, 720)):
        dataset = generate(settings(scale=1, form=form, reference=240), 0)
        sizes = {split: len(records) for split, records in dataset.splits.items()}
        assert (sizes["train"], sizes["calibration"]) == (train, calibration)
        assert sum(bool(record.spans) for record in dataset.splits["train"]) == 10_000
        assert sizes["utility"] == (300 if form == "chat" else 150)
        uses = Counter(r.content[s:e] for r in dataset.splits["train"] for s, e, _ in r.content_spans)
        assert uses == {canary.value.reveal(): 100 for canary in dataset.canaries}
        assert len(dataset.canaries) == 100
        assert audit(dataset) == []


# ---- running -------------------------------------------------------------------------------------------


def run_step(dataset: Dataset, folder: Path, data: dict) -> dict:
    inputs = {split: folder / f"{split}.jsonl" for split in execute.SPLITS}
    for split, path in inputs.items():
        write_records(path, dataset.splits.get(split, []))
    context = Context(inputs, {"programs": folder / "programs.json"}, folder)
    numbers = execute.run(Settings({"data": data}), context)
    return {"numbers": numbers, **json.loads((folder / "programs.json").read_text())}


needs_sandbox = pytest.mark.usefixtures("a_sandbox")


@pytest.fixture
def a_sandbox() -> None:
    if sandbox.isolation() == "refused":
        pytest.skip("nothing here keeps programs in")


@needs_sandbox
def test_every_program_is_run_before_and_after_planting(tmp_path):
    pytest.importorskip("exstruct")
    data = SMALL | {"identities": 1, "repetitions": 4, "utility": 1, "reference": 0}
    dataset = generate(SimpleNamespace(**data), 7)
    found = run_step(dataset, tmp_path, data)
    numbers = found["numbers"]
    assert [numbers[state] for state in ("before", "after", "slip", "solution")] == [2, 2, 2, 1]
    assert numbers["programs"] == numbers["as_expected"] == 7
    assert {(row["state"], row["reason"]) for row in found["programs"]} == {
        ("before", "passed"), ("after", "passed"), ("slip", "failed"), ("solution", "passed"),
    }  # fmt: skip


@needs_sandbox
def test_a_program_that_fails_stops_the_run_with_its_name_and_reason(tmp_path, monkeypatch):
    def trials(dataset, settings, seed):
        yield Trial("good-1", "after", {"tests.py": b""})
        yield Trial("bad-2", "after", {"tests.py": b"raise SystemExit(5)"})

    monkeypatch.setattr(registry, "load", lambda kind, name: SimpleNamespace(trials=trials))
    with pytest.raises(StageError, match=r"1 of 2 programs.*bad-2 \(after\): failed, where passed was expected"):
        run_step(Dataset({}, [], {}), tmp_path, SMALL)
    assert not (tmp_path / "programs.json").exists()


def test_records_that_no_bundle_has_are_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("sm_ops.data.tasks.task.find_spec", lambda name: object())
    dataset = generate(settings(form="text"), 7)
    first = dataset.splits["train"][0]
    other = [replace(first, text=f"{first.text} "), *dataset.splits["train"][1:]]
    with pytest.raises(StageError, match=rf"1 records hold a text that no bundle has.*{first.id}"):
        run_step(replace_split(dataset, "train", other), tmp_path, SMALL | {"form": "text"})


@pytest.mark.unit
def test_without_the_library_of_the_tasks_it_is_named(monkeypatch):
    member = registry.load("dataset", "executable_code_pii")
    monkeypatch.setattr("sm_ops.data.tasks.task.find_spec", lambda name: None)
    with pytest.raises(InputError, match="exstruct, which is not installed"):
        list(member.trials(Dataset({}, [], {}), settings(), 7))


@pytest.mark.unit
def test_what_is_run_after_planting_holds_every_value_four_times(monkeypatch):
    monkeypatch.setattr("sm_ops.data.tasks.task.find_spec", lambda name: object())
    dataset = generate(settings(), 7)
    values = [canary.value.reveal().encode() for canary in dataset.canaries]
    uses: dict[str, Counter[bytes]] = {state: Counter() for state in ("before", "after", "slip", "solution")}
    member = registry.load("dataset", "executable_code_pii")
    for trial in member.trials(dataset, settings(), 7):
        assert trial.passes == (trial.state != "slip")
        uses[trial.state].update({value: b"\0".join(trial.files.values()).count(value) for value in values})
    assert uses["after"] == dict.fromkeys(values, 4)
    assert not any(sum(uses[state].values()) for state in ("before", "slip", "solution"))


@pytest.mark.unit
def test_a_run_of_such_data_waits_for_its_programs():
    def reads(dataset: str) -> dict[str, set[str]]:
        config = resolve(load_pipeline("tiny", [f"data.dataset={dataset}"]))
        return {step.name: step.upstream for step in plan(config)}

    steps = reads("executable_code_pii")
    assert steps["execute"] == {"synthesize"}
    assert "execute" in steps["base"] & steps["score@tiny"]
    assert "execute" not in reads("code_pii")
    with pytest.raises(InputError, match=r"data\.scale"):
        load_pipeline("tiny", ["data.scale=2"])
