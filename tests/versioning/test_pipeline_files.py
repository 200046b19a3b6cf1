from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.plans import plan
from sm_ops.versioning.pipeline import dvc_stages, write_files

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]
SMALLEST = ROOT / "tests" / "pipelines" / "smallest.yaml"
SMALLEST_AUDIT = ROOT / "tests" / "pipelines" / "audit_smallest.yaml"


def expanded(stages: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Concrete DVC stages by DVC's own names: `foreach` and `matrix` written out (its documentation)."""
    found = {}
    for name, entry in stages.items():
        if "foreach" in entry:
            for key, item in entry["foreach"].items():
                values = {"key": key} | {f"item.reads[{i}]": path for i, path in enumerate(item["reads"])}
                found[f"{name}@{key}"] = filled(entry["do"], values)
        elif "matrix" in entry:
            cells = [{}]
            for axis, items in entry["matrix"].items():
                cells = [{**cell, f"item.{axis}": str(item)} for cell in cells for item in items]
            for cell in cells:
                found[f"{name}@{'-'.join(cell.values())}"] = filled(entry, cell)
        else:
            found[name] = entry
    return found


def filled(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {filled(key, values): filled(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, values) for inner in value]
    if isinstance(value, str):
        for name, text in values.items():
            value = value.replace(f"${{{name}}}", text)
    return value


def test_the_committed_files_are_those_of_the_default_pipeline(tmp_path: Path) -> None:
    (tmp_path / "sm_ops").mkdir()
    config = resolve(load_pipeline("tiny"))
    for written in write_files(tmp_path, config, plan(config)):
        assert (ROOT / written.name).read_text() == written.read_text(), "write it again: sm-ops init"


def test_params_hold_the_resolved_config(tmp_path: Path) -> None:
    config = resolve(load_pipeline(str(SMALLEST)))
    write_files(tmp_path, config, plan(config))
    assert resolve(load_pipeline(str(tmp_path / "params.yaml"))) == config


@pytest.mark.parametrize("source", ["tiny", "pii_tiny", "sanitize_tiny", str(SMALLEST), str(SMALLEST_AUDIT)])
def test_every_step_is_a_stage_of_its_name_that_reads_and_writes_the_same(source: str) -> None:
    config = resolve(load_pipeline(source))
    steps = {step.name: step for step in plan(config)}
    stages = expanded(dvc_stages(list(steps.values())))
    assert stages.keys() - {"report"} == steps.keys()
    classes = {(step.name, output.name): output.cls for step in steps.values() for output in step.stage.outputs}
    for name, step in steps.items():
        assert stages[name]["cmd"] == f"sm-ops stage {name} --config params.yaml --out out"
        reads = {path(*source, classes) for source in step.inputs.values()}
        assert set(stages[name].get("deps", [])) == reads
        outs = {next(iter(out)) if isinstance(out, dict) else out: out for out in stages[name]["outs"]}
        assert outs.keys() == {path(name, output.name, classes) for output in step.stage.outputs}
        for output in step.stage.outputs:
            kept = outs[path(name, output.name, classes)]
            assert (kept == {path(name, output.name, classes): {"cache": False}}) == (output.cls == "restricted")


def path(step: str, output: str, classes: dict[tuple[str, str], str]) -> str:
    return f"out/{step}/{output}" + (".sha256" if classes[step, output] == "restricted" else "")


def test_a_reference_has_its_own_parameters() -> None:
    stages = expanded(dvc_stages(plan(resolve(load_pipeline("tiny")))))
    assert stages["score@ngram"]["params"] == ["references.ngram", "base"]
    assert stages["fit@ngram"]["params"] == ["references.ngram", "base"]


def test_the_users_own_files_are_dependencies(tmp_path: Path) -> None:
    records = tmp_path / "clean.jsonl"
    records.write_text('{"id": "1", "text": "x"}\n')
    overrides = [f"references.tiny.fit={records}", "references.ngram.backend=ngram", f"data.hosts={tmp_path}"]
    config = resolve(load_pipeline("tiny", overrides))
    stages = expanded(dvc_stages(plan(config), ["sm_ops"]))
    assert str(records) in stages["fit@tiny"]["deps"]
    assert str(records) not in stages["fit@ngram"]["deps"]
    assert stages["synthesize"]["deps"] == ["sm_ops", str(tmp_path)]


def test_the_files_are_valid_yaml_that_dvc_reads(tmp_path: Path) -> None:
    config = resolve(load_pipeline("tiny"))
    dvc, _ = write_files(tmp_path, config, plan(config))
    assert yaml.safe_load(dvc.read_text())["stages"].keys() >= {"train", "report"}
