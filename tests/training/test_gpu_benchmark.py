"""The benchmark of a GPU runs whole where torch, transformers, peft and NumPy are all there is."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import torch
from driving import ROOT
from packaging.requirements import Requirement

from sm_ops.core.config import load_pipeline, resolve

SCRIPT = ROOT / "benchmarks" / "gpu_code_pii.py"
TOY = [
    "data.identities=2", "data.repetitions=2", "data.clean=4", "data.calibration_identities=2", "data.utility=6",
    "data.calibration_repetitions=2", "data.calibration_clean=4", "data.reference=8", "data.public_chars=60000",
    "base.layers=1", "base.width=32", "base.heads=2", "base.context=128", "base.vocab_size=512", "base.epochs=2",
    "base.batch_size=8", "base.dtype=float32", "train.epochs=4", "train.context=128", "train.batch_size=2",
    "train.dtype=float32", "references.base.dtype=float32", "attack.samples=8", "attack.budgets=[1,8]",
    "attack.dtype=float32",
]  # fmt: skip
GIVEN = ("torch", "transformers", "peft", "numpy")
ABSENT = {"pydantic", "pydantic-core", "typer", "rich"}
"""Left out as well: machines were seen without pydantic, and ours would bring the other two."""


def load():
    spec = importlib.util.spec_from_file_location("gpu_code_pii", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gpu_code_pii"] = module
    spec.loader.exec_module(module)
    return module


def needed(names: tuple[str, ...]) -> set[str]:
    """The distributions that those need, themselves included."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop().lower().replace("_", "-")
        if name in found:
            continue
        try:
            requires = distribution(name).requires or []
        except PackageNotFoundError:  # of another system
            continue
        found.add(name)
        wanted = map(Requirement, requires)
        todo += [each.name for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def bare_site(folder: Path) -> Path:
    """A site folder that has these packages alone, as links."""
    folder.mkdir()
    for name in needed(GIVEN) - ABSENT:
        files = distribution(name).files or []
        for top in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
            link = folder / top
            if not link.exists():
                link.symlink_to(distribution(name).locate_file(top))
    return folder


@pytest.mark.slow
def test_the_bare_source_tree_and_four_packages_are_enough(tmp_path):
    config = resolve(load_pipeline("gpu_code_pii", TOY))
    config["data"]["hosts"] = str(Path(torch.__file__).parent / "nn")
    (tmp_path / "toy.json").write_text(json.dumps(config))
    site = bare_site(tmp_path / "site")
    assert not {"pydantic", "pyarrow", "prefect", "mlflow", "dvc", "typer", "libcst"} & {p.name for p in site.iterdir()}
    done = subprocess.run(
        [sys.executable, "-S", str(SCRIPT), str(tmp_path / "toy.json"), "--out", str(tmp_path / "out")],
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    *steps, figures = map(json.loads, (tmp_path / "out" / "gpu_code_pii.jsonl").read_text().splitlines())
    assert {"synthesize", "base", "calibrate", "mask", "train@random95-0"} <= {step.get("step") for step in steps}
    assert [each["condition"] for each in figures["conditions"]] == ["base", "unmasked", "oracle", "SM95", "random95"]
    for own in figures["conditions"]:
        assert (own["samples"], own["canaries"]) == (8, 8)
        assert own["interval"][0] <= own["extracted"] / 8 <= own["interval"][1]
    by_name = {each["condition"]: each for each in figures["conditions"]}
    assert (by_name["oracle"]["coverage"], by_name["oracle"]["collateral"]) == (1.0, 0.0)
    assert by_name["unmasked"]["coverage"] == 0.0
    for rate in figures["rates"].values():
        assert rate["tokens_per_second"] > 0
        assert 0 < rate["share"] < 1
    assert "| SM95 | " in (tmp_path / "out" / "gpu_code_pii.md").read_text()


@pytest.mark.unit
def test_operations_are_those_of_the_matrices():
    """By hand: a GPT-2 of one layer of width 2 over 3 words, 4 tokens a row."""
    benchmark = load()
    layer = 2 * 6 + 2 * 2 + 2 * 8 + 8 * 2  # queries, keys and values; output; two of the feed-forward part
    weights = 3 * 2 + layer
    operations = benchmark.Operations(weights, layers=1, width=2)
    attention = 2 * 2 * 2 * (1 + 2 + 3 + 4)  # products with keys and of values: 2 widths, 2 operations, all pairs
    assert 4 * operations.forward((4 + 1) / 2) == 4 * 2 * weights + attention
    marks = [(10, 5.0), (20, 7.0), (24, 8.0)]
    section = {"context": 4, "batch_size": 3, "accumulation": 2}
    rate = benchmark.training(section, benchmark.Done({}, {}, 9.0, marks), operations)
    assert (rate.tokens, rate.seconds) == (14 * 3 * 2 * 4, 3.0)
    assert rate.operations == 3 * operations.forward(2.5)
    told = rate.told(1e6)
    assert told["share"] == pytest.approx(told["tokens_per_second"] * rate.operations / 1e6)
    assert benchmark.Rate(0, 0.0, 1.0).told(1e6)["share"] is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
@pytest.mark.slow
def test_the_benchmark_measures_a_gpu(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(resolve(load_pipeline("gpu_code_pii"))))
    command = [sys.executable, str(SCRIPT), str(tmp_path / "config.json"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=480, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads((tmp_path / "gpu_code_pii.jsonl").read_text().splitlines()[-1])
    extracted = {each["condition"]: each["extracted"] for each in figures["conditions"]}
    assert extracted["unmasked"] > extracted["oracle"]
    assert figures["rates"]["training, from scratch"]["share"] > 0.05


def said(monkeypatch, capsys, *words: object) -> str:
    """What the benchmark prints where it measures nothing, on a machine without a GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu_code_pii.py", *map(str, words)])
    assert load().main() == 2
    return capsys.readouterr().err


@pytest.mark.unit
def test_without_a_gpu_nothing_is_measured_and_nothing_written(monkeypatch, capsys):
    assert said(monkeypatch, capsys).startswith("gpu_code_pii: Not measured: torch sees no GPU")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "There is no file"),
        ("{nothing", "is no resolved config; write it with: sm-ops validate gpu_code_pii --resolve"),
        ([1], "is no resolved config"),
        ({"flow": "surprise", "data": {}}, "is no resolved config"),
        (("pii_tiny", []), "has no step base, which is measured here"),
        (("small", []), "has no step base"),
        (("gpu_code_pii", ["masking.reference=grams", "references.grams.backend=ngram"]), "is of backend ngram"),
    ],
)
def test_what_is_no_config_of_such_a_run_is_refused_in_a_sentence(monkeypatch, capsys, tmp_path, given, words):
    path = tmp_path / "given.json"
    if given is not None:
        told = resolve(load_pipeline(*given)) if isinstance(given, tuple) else given
        path.write_text(told if isinstance(told, str) else json.dumps(told))
    assert words in said(monkeypatch, capsys, path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
