"""What changes a result enters its identity; where and how fast it came does not."""

from __future__ import annotations

import ast
import os
import re
import sys
from dataclasses import replace

import grimp
import pytest
from driving import ROOT, SMALLEST
from toy_stages import step

from sm_ops.core import fingerprint, fs, registry
from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.execute import identify
from sm_ops.core.fingerprint import code_digests, environment, payload
from sm_ops.core.stage import Output, Step
from sm_ops.plans import plan
from sm_ops.stages import STAGES

pytestmark = pytest.mark.unit


def print_of(made: Step, inputs: dict[str, str] | None = None) -> str:
    return fingerprint.fingerprint(payload(made, inputs or {}))


def restaged(**changes) -> Step:
    made = step()
    return replace(made, stage=replace(made.stage, **changes))


# ---- what enters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        step(text="other"),
        step("folder"),
        restaged(name="toys"),
        restaged(version=2),
        restaged(numeric=True),
        restaged(outputs=(Output("open.txt", "internal"),)),
        restaged(outputs=(Output("open.txt", "restricted"), Output("secret.txt", "restricted"))),
        restaged(function="sm_ops.core.seeds:derive"),
    ],
)
def test_what_changes_the_result_changes_the_fingerprint(other):
    assert print_of(other) != print_of(step())


def test_inputs_count_by_content_and_role():
    assert len({print_of(step(), inputs) for inputs in ({}, {"a": "1"}, {"a": "2"}, {"b": "1"})}) == 4


def test_a_registry_members_code_counts():
    made = replace(step(text="global"), stage=replace(step().stage, members=(("toy.text", "rule"),)))
    assert "sm_ops.masking.rules.global_" in payload(made, {})["code"]


def test_numeric_stages_know_libraries_and_device():
    assert environment(False).keys() == {"python"}
    assert {"torch", "numpy", "transformers", "device"} <= environment(True).keys()
    assert environment(True)["device"] in ("cpu", "cuda")


def detecting(**detection) -> Step:
    config = resolve(load_pipeline(str(SMALLEST), []))
    config["masking"]["detectors"] = {"mine": {"settings": {}, "target": None, **detection}}
    return next(each for each in plan(config) if each.name == "detect@mine")


def test_an_upgraded_package_moves_the_steps_that_stand_on_it_alone(monkeypatch):
    union = {"detector": "union", "settings": {"of": ["regex", "credsweeper"]}}
    before = [print_of(detecting(**each)) for each in (union, {"detector": "credsweeper"}, {"detector": "regex"})]
    installed = fingerprint._version
    monkeypatch.setattr(fingerprint, "_version", lambda name: "999" if name == "credsweeper" else installed(name))
    after = [print_of(detecting(**each)) for each in (union, {"detector": "credsweeper"}, {"detector": "regex"})]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, False, True]
    assert payload(detecting(**union), {})["environment"]["credsweeper"] == "999"


def test_a_package_that_a_setting_names_counts_by_its_version(monkeypatch):
    named = {"detector": "union", "settings": {"of": ["spacy"], "settings": {"spacy": {"model": "xx_own_model"}}}}
    without = payload(detecting(**named), {})["environment"]
    installed = fingerprint._version
    monkeypatch.setattr(fingerprint, "_version", lambda name: "2.0" if name == "xx_own_model" else installed(name))
    assert payload(detecting(**named), {})["environment"] == {**without, "xx_own_model": "2.0"}


def test_a_program_counts_by_its_content(tmp_path, monkeypatch):
    program = tmp_path / "gitleaks"
    monkeypatch.setenv("PATH", str(tmp_path))
    found = [payload(detecting(detector="gitleaks"), {})["environment"]["gitleaks"]]
    for text in ("one", "other"):
        program.write_text(text)
        program.chmod(0o700)
        found.append(payload(detecting(detector="gitleaks"), {})["environment"]["gitleaks"])
    assert found == ["absent", fs.sha256(b"one"), fs.sha256(b"other")]


def test_programs_of_the_data_stand_on_their_libraries():
    config = resolve(load_pipeline(str(SMALLEST), ["data.dataset=code_quirks"]))
    known = {each.name: payload(each, {})["environment"] for each in plan(config)}
    assert all({"exstruct", "libcst"} <= known[name].keys() for name in ("synthesize", "execute"))
    assert "libcst" not in known["calibrate"]


def test_device_class_needs_a_gpu_that_torch_can_use(monkeypatch):
    monkeypatch.setattr(fingerprint.Path, "exists", lambda self: True)
    monkeypatch.setattr(fingerprint, "_version", lambda library: "2.9")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert fingerprint.device_class() == "cuda"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert fingerprint.device_class() == "cuda", "which of the devices never counts"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert fingerprint.device_class() == "cpu"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(fingerprint, "_version", lambda library: "2.9+cpu")
    assert fingerprint.device_class() == "cpu"


# ---- what does not -------------------------------------------------------------------------------------


def all_prints(overrides: list[str] | None = None) -> dict[str, str]:
    """Fingerprints of the whole smallest pipeline, each step's inputs standing for their names."""
    steps = plan(resolve(load_pipeline(str(SMALLEST), overrides)))
    return {s.name: print_of(s, {name: "/".join(source) for name, source in s.inputs.items()}) for s in steps}


def test_where_and_how_fast_never_enter(tmp_path, monkeypatch):
    before = all_prints()
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("LOGLEVEL", "DEBUG")
    monkeypatch.chdir(tmp_path)
    assert all_prints(["train.checkpoint_steps=7", "base.checkpoint_steps=3", "name=renamed"]) == before


def test_a_members_own_settings_count_whatever_they_are_called():
    """What is so called in our sections says how fast or by whom; in a member's, or as its name, nobody knows."""
    own = {"workers": 2, "engine": "x", "calls": 1, "checkpoint_steps": 3}
    counted = {"filter": {"settings": own}, "attack": {"calls": own}, "reference": {"order": 3}}
    incidental = {
        "filter": {"settings": own, "workers": 2},
        "attack": {"calls": own},
        "reference": {"order": 3, "workers": 2, "engine": "ray"},
    }
    assert payload(replace(step(), settings=incidental), {})["settings"] == counted
    asked = {"endpoints": {"judge": {"model": "m", "calls": {"at_once": 4}}}, "tune": {"checkpoint_steps": 1}}
    counted = {"endpoints": {"judge": {"model": "m"}}, "tune": {}}
    assert payload(replace(step(), settings=asked), {})["settings"] == counted


def test_no_payload_holds_a_place(tmp_path):
    steps = plan(resolve(load_pipeline(str(SMALLEST))))
    for each in steps:
        text = fs.canonical_json(payload(each, {})).decode()
        assert str(ROOT) not in text
        assert str(tmp_path) not in text


def test_a_setting_moves_only_the_stages_that_read_it():
    before, after = all_prints(), all_prints(["attack.samples=9"])
    assert {name.partition("@")[0] for name in before if before[name] != after[name]} == {"attack"}


def test_canonical_json_is_one_byte_form():
    assert fs.canonical_json({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'.encode()
    assert fs.canonical_json({"a": 1, "b": 2}) == fs.canonical_json({"b": 2, "a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        fs.canonical_json(float("nan"))


# ---- places --------------------------------------------------------------------------------------------


def placed(place: str | None) -> Step:
    return replace(step(text=place), stage=replace(step().stage, places=("toy.text",)))  # type: ignore[arg-type]


def test_a_place_counts_by_its_content(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "records.jsonl").write_text("same")
    first, second = placed(str(tmp_path / "one")), placed(str(tmp_path / "two"))
    assert payload(first, {}) == payload(second, {})
    before = print_of(second)
    (tmp_path / "two" / "records.jsonl").write_text("other")
    assert print_of(second) != before
    assert str(tmp_path) not in str(payload(first, {}))


def test_a_name_of_no_place_stays_a_name():
    assert payload(placed("gpt2"), {})["settings"] == {"toy": {"text": "gpt2"}}
    assert print_of(placed("gpt2")) != print_of(placed("gpt3")) != print_of(placed(None))


def test_the_files_of_a_detector_count_however_deep_they_are_named(tmp_path):
    """Those of a union's detectors too, and never by their place."""
    prints = []
    for name, text in (("one", "same"), ("two", "same"), ("three", "other")):
        (file := tmp_path / f"{name}.jsonl").write_text(text)
        settings = {"of": ["gold", "regex"], "settings": {"gold": {"records": str(file)}}}
        made = detecting(detector="union", settings=settings)
        prints.append(print_of(made))
        assert str(tmp_path) not in str(payload(made, {}))
    assert prints[0] == prints[1] != prints[2]


def test_the_code_of_a_detectors_own_detectors_counts():
    of = {"of": ["shapes", "gold"]}
    assert {f"sm_ops.detectors.members.{name}" for name in ("union", "shapes", "gold")} <= payload(
        detecting(detector="union", settings=of), {}
    )["code"].keys()
    assert "sm_ops.detectors.members.spacy_" in payload(detecting(detector="union"), {})["code"], "it is a default"


# ---- code ----------------------------------------------------------------------------------------------

GRAPH = grimp.build_graph("sm_ops", include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None)


def by_grimp(module: str) -> set[str]:
    """A module, all it imports, and the parent packages that importing runs (but for the topmost)."""
    found, todo = set(), {module}
    while todo:
        name = todo.pop()
        found.add(name)
        parts = name.split(".")
        parents = {".".join(parts[:depth]) for depth in range(2, len(parts))}
        imported = {each for each in GRAPH.find_modules_directly_imported_by(name) if each.startswith("sm_ops")}
        todo |= (imported | parents) - found - {"sm_ops"}
    return found


MODULES = sorted({s.module for s in STAGES} | {m for kind in registry.KINDS for m in registry.members(kind).values()})


@pytest.mark.parametrize("module", MODULES)
def test_the_digests_cover_the_import_graph(module):
    assert code_digests({module}).keys() == by_grimp(module)


def test_every_kind_a_stage_loads_is_declared():
    """A registry member is imported by name at run time, which no import graph shows."""
    for stage in STAGES:
        loaded = set()
        for module in by_grimp(stage.module):
            path = fingerprint.module_path(module)
            assert path is not None
            for node in ast.walk(ast.parse(path.read_text())):
                called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
                if called in ("registry.load", "load") and node.args and isinstance(node.args[0], ast.Constant):
                    loaded.add(node.args[0].value)
        assert {kind for _, kind in stage.members} >= loaded & registry.KINDS.keys(), stage.name


NEUTRAL = {
    "ahocorasick_rs", "boto3", "botocore", "cryptography", "filelock", "huggingface_hub", "jinja2", "numba", "pyarrow",
    "ray", "safetensors", "yaml",
}  # fmt: skip
"""Packages whose every version gives the same result: exact searches and sums, files, locks, machines."""
BY_NAME = re.compile(r"import_module\(\"(\w+)")


def foreign(module: str) -> set[str]:
    """The packages that a module imports, at its top or within a function."""
    path = fingerprint.module_path(module)
    assert path is not None
    found = GRAPH.find_modules_directly_imported_by(module) | {*BY_NAME.findall(path.read_text(encoding="utf-8"))}
    return {name for name in found if not name.startswith("sm_ops") and name not in sys.stdlib_module_names}


def test_packages_that_change_results_are_declared_where_they_are_imported():
    undeclared = set()
    for module in code_digests({each for each in MODULES if not each.startswith("sm_ops.release")}):
        if names := foreign(module) - {*fingerprint._LIBRARIES} - NEUTRAL:
            known = {package.replace("-", "_") for package in fingerprint.declared(code_digests({module}))}
            undeclared |= {(module, name) for name in names - known}
    assert not undeclared


def written(folder, text: str) -> dict[str, str]:
    """Digests of a small package whose `steps` imports `middle`, which imports `deep`, whose text is given."""
    files = {
        "__init__": "", "steps": "from outsider import middle", "deep": text,
        "middle": "from . import deep\nfrom outsider.inner.leaf import x\nimport json",
        "inner/__init__": "ran = 1", "inner/leaf": "x = 1",
    }  # fmt: skip
    for name, content in files.items():
        path = folder / "outsider" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    fingerprint._parse.cache_clear()
    return code_digests({"outsider.steps"})


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    fingerprint._outside_root.cache_clear()
    yield tmp_path
    fingerprint._outside_root.cache_clear()


def test_an_outside_members_package_counts_like_ours(package):
    names = ("steps", "middle", "deep", "inner", "inner.leaf")
    assert written(package, "a = 1").keys() == {"outsider", *(f"outsider.{name}" for name in names)}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("def f():\n    return 2", True),
        ("def f():\n    return 1.0", True),
        ("def f(x=0):\n    return 1", True),
        ("# why\ndef f():\n\n    return 1  # so", False),
        ('"""A module."""\ndef f():\n    """A function."""\n    return 1', False),
        ("import typing\ndef f():\n    return 1", True),
        ("def f():\n    return (1)\n", False),
        ("if TYPE_CHECKING:\n    import json\ndef f():\n    return 1", False),
        ("if TYPE_CHECKING:\n    import json\nelse:\n    y = 1\ndef f():\n    return 1", True),
    ],
)
def test_code_counts_and_comments_do_not(package, text, counts):
    before = written(package, "def f():\n    return 1")
    after = written(package, text)
    assert {name for name in before if before[name] != after[name]} == ({"outsider.deep"} if counts else set())


def test_a_module_without_source_is_told_apart(package):
    assert code_digests({"nowhere.module"}) == {"nowhere.module": "absent"}


def test_identity_needs_only_the_records_of_what_it_reads():
    assert identify(step(), {})[0]["inputs"] == {}


def test_large_files_are_read_once(tmp_path, monkeypatch):
    (tmp_path / "model").write_text("weights")
    reads = []
    monkeypatch.setattr(fingerprint.fs, "file_hash", lambda path: reads.append(path) or "h")
    for _ in range(3):
        payload(placed(str(tmp_path / "model")), {})
    assert len(reads) == 1
    os.utime(tmp_path / "model", ns=(1, 1))
    payload(placed(str(tmp_path / "model")), {})
    assert len(reads) == 2
