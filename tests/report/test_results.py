from __future__ import annotations

import json
import shutil
import subprocess
import sys
from math import exp
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fake_quirks
import fake_runs
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.report.outputs import Outputs
from sm_ops.report.surprise.html import write_report
from sm_ops.report.surprise.results import load_results, print_table
from sm_ops.report.surprise.words import headline

pytestmark = pytest.mark.unit

FIELDS = {
    "condition", "seed", "budget_tokens", "target_coverage", "collateral_rate", "extraction_approx",
    "extraction_exact", "nll",
}  # fmt: skip


def by_condition(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["condition"]: row for row in results["rows"]}


def test_fields_and_order(tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    conditions = ["base", "unmasked", "oracle", "SM95", "random95"]
    assert [row["condition"] for row in results["rows"]] == conditions
    cells = [(row["condition"], row["seed"]) for row in results["per_seed"]]
    assert cells == [(condition, seed) for condition in conditions for seed in (0, 1)]
    for row in results["rows"] + results["per_seed"]:
        assert row.keys() >= FIELDS
        assert row["extraction_approx"].keys() == row["extraction_exact"].keys() == {"k", "n", "low", "high"}
    assert {row["seed"] for row in results["rows"]} == {None}
    json.dumps(results, allow_nan=False)


def test_extraction_is_pooled_within_the_largest_budget(tiny: SimpleNamespace) -> None:
    row = by_condition(load_results(tiny.run, tiny.home))["unmasked"]
    approx, exact = row["extraction_approx"], row["extraction_exact"]
    assert (approx["k"], approx["n"], exact["k"], exact["n"]) == (4, 6, 2, 6)  # a hit at 9 is beyond the budget of 8
    assert approx["low"] == pytest.approx(0.3000, abs=1e-4)  # worth all 6 observations: Wilson's of 4 in 6
    assert approx["high"] == pytest.approx(0.9032, abs=1e-4)
    assert exact["low"] == pytest.approx(0.0453, abs=1e-4)  # one canary has both hits: worth 2 observations
    assert exact["high"] == pytest.approx(0.8406, abs=1e-4)
    assert row["expected_exact"] == pytest.approx((1 - 0.5**8 + 0 + 1) / 3)
    assert row["expected_exact_se"] == 0


def test_per_seed_intervals_are_wilsons(tiny: SimpleNamespace) -> None:
    first = next(r for r in load_results(tiny.run, tiny.home)["per_seed"] if r["condition"] == "random95")
    z2 = 1.959963985**2
    assert first["extraction_approx"] == {"k": 3, "n": 3, "low": pytest.approx(1 / (1 + z2 / 3)), "high": 1.0}


def test_utility_and_its_error_over_seeds(tiny: SimpleNamespace) -> None:
    rows = by_condition(load_results(tiny.run, tiny.home))
    assert rows["unmasked"]["nll"] == pytest.approx(1.1)
    assert rows["unmasked"]["nll_se"] == pytest.approx(0.1)
    assert rows["SM95"]["nll_change"] == pytest.approx(0.05)  # paired by seed: 10 % and 0 %
    assert rows["SM95"]["nll_change_se"] == pytest.approx(0.05)
    assert rows["base"]["nll"] == pytest.approx(2.0)
    assert rows["base"]["nll_se"] is rows["base"]["expected_exact_se"] is None  # it is one model


def test_masking_is_null_for_the_base_model(tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    names = ("budget_tokens", "target_coverage", "collateral_rate", "exposed_canaries", "occurrences")
    for row in (row for row in results["rows"] + results["per_seed"] if row["condition"] == "base"):
        assert [row[name] for name in names] == [None] * 5
    row = by_condition(results)["SM95"]
    assert (row["budget_tokens"], row["target_coverage"], row["collateral_rate"]) == (222, 0.93, 0.045)
    assert (row["exposed_canaries"]["k"], row["exposed_canaries"]["n"]) == (1, 3)
    assert row["occurrences"] == {"fully": 6, "partly": 5, "none": 1}


def test_one_seed_has_no_standard_error(tmp_path: Path) -> None:
    made = fake_runs.make_tiny(tmp_path / "home", seeds=(0,))
    for row in load_results(made.run, made.home)["rows"]:
        assert row["nll"] is not None
        assert row["nll_se"] is row["nll_change_se"] is row["expected_exact_se"] is None


def test_utility_is_the_nll_of_answers_where_it_was_measured(tmp_path: Path, tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    assert results["likelihood"] == "nll"
    row = by_condition(results)["unmasked"]
    assert (row["perplexity"], row["perplexity_se"]) == (pytest.approx(exp(1.1)), pytest.approx(0.1 * exp(1.1)))
    made = fake_quirks.make(tmp_path / "answers", answers=True)
    results = load_results(made.run, made.home)
    assert results["likelihood"] == "completion_nll"
    row = by_condition(results)["unmasked"]
    # five answers at 1.2 and one at 1.8 or 2.4: means of 1.3 and 1.4
    assert (row["completion_nll"], row["completion_nll_se"]) == (pytest.approx(1.35), pytest.approx(0.05))
    assert (row["perplexity"], row["perplexity_se"]) == (pytest.approx(exp(1.35)), pytest.approx(0.05 * exp(1.35)))
    assert row["nll"] == pytest.approx(1.2 + 0.9 * 40 / 90), "pooled over tokens, as it was"
    base = by_condition(results)["base"]
    assert base["perplexity"] == pytest.approx(exp(2.15))
    assert base["completion_nll_se"] is base["perplexity_se"] is None


def test_a_base_that_learnt_the_mixture_is_no_floor(tiny: SimpleNamespace) -> None:
    """The conditions go on from a model that has the private values unmasked (C.1)."""
    mixture = {"general": None, "general_tokens": 10, "domain_tokens": 10}
    for method, floor in (("continue", False), ("scratch", True)):
        config = {**tiny.run.config, "mixture": mixture, "train": {**tiny.run.config["train"], "method": method}}
        run = Run(tiny.run.folder, tiny.run.name, config, tiny.run.steps, tiny.run.finished)
        results = load_results(run, tiny.home)
        assert results["run"]["floor"] is floor
        (claim,) = [each for each in results["claims"] if each["name"] == "sm95-protects"]
        assert ("floor" in claim["detail"]) is floor
        page = write_report(run, tiny.home).read_text(encoding="utf-8")
        figures, _, limits = page.partition("What this does not say")
        assert ("chance floor" in figures) is floor
        assert ("before the masks" in figures) is not floor
        assert ("has learnt the private values with the mixture" in limits) is not floor
        assert "on public code" not in page, "it learnt more than that, or is not what conditions begin from"


def test_undefined_is_null_never_zero(tmp_path: Path) -> None:
    made = fake_runs.make_tiny(tmp_path / "home", ids=(), tokens=())
    results = load_results(made.run, made.home)
    for row in results["rows"] + results["per_seed"]:
        assert row["extraction_approx"] == {"k": 0, "n": 0, "low": None, "high": None}
        assert row["nll"] is row["perplexity"] is row["expected_exact"] is None
    assert {claim["passed"] for claim in results["claims"]} == {None}


def test_kinds_budgets_and_canaries(tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    kinds = {r["kind"]: r["extraction_approx"] for r in results["by_kind"] if r["condition"] == "unmasked"}
    assert {kind: (rate["k"], rate["n"]) for kind, rate in kinds.items()} == {"user": (3, 4), "path": (1, 2)}
    curve = {p["budget"]: p["extraction_approx"]["k"] for p in results["curve"] if p["condition"] == "unmasked"}
    assert curve == {1: 2, 8: 4}
    canaries = {c["canary"]: c for c in results["canaries"] if c["condition"] == "SM95"}
    assert list(canaries) == ["user 1", "user 2", "path 1"]
    assert canaries["user 1"] == {
        "condition": "SM95", "canary": "user 1", "fully": 2, "partly": 1, "none": 1, "hits_approx": 1,
        "hits_exact": 0, "seeds": 2,
    }  # fmt: skip


def test_calibration_stands_beside_training(tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    assert results["operating_points"] == [
        {
            "condition": "SM95", "tau": 2.5, "validation_coverage": 0.95, "validation_low": 0.5, "validation_high": 1.0,
            "training_coverage": 0.93, "validation_collateral": 0.03, "training_collateral": 0.045, "r_max": None,
        }
    ]  # fmt: skip
    verdicts = [(r["reference"], r["chosen"], r["auroc"], r["decision"]) for r in results["references"]]
    assert verdicts == [("ngram", False, 0.41, "inverted"), ("tiny", True, 0.97, "suitable")]
    assert results["application"] == {"acceptable_coverage": 0.96, "gap": 0.02}


def test_stages_and_claims(tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    stages = [(each["stage"], each["steps"], each["seconds"]) for each in results["stages"]]
    assert stages == [
        ("synthesize", 1, 3.0), ("score", 1, 36.0), ("calibrate", 1, 1.5), ("mask", 1, 1.5), ("train", 8, 80.0),
        ("attack", 10, 20.0), ("evaluate", 10, 5.0),
    ]  # fmt: skip
    assert {claim["name"]: claim["passed"] for claim in results["claims"]} == {
        "unmasked-leaks": True,
        "sm95-protects": False,
        "oracle-is-no-worse": True,
        "random-leaks": True,
        "baselines-matched": None,  # there is no Goldfish
        "cheap-protection": True,
    }
    frontier = {row["condition"]: row["on_frontier"] for row in results["rows"]}
    assert frontier == {"base": None, "oracle": None, "unmasked": True, "SM95": True, "random95": False}


def test_a_loaded_run_gives_the_same_results(tiny: SimpleNamespace) -> None:
    again = load_results(Run.load(tiny.run.folder), tiny.home)
    assert again == load_results(tiny.run, tiny.home)


def test_restricted_outputs_are_refused(tiny: SimpleNamespace) -> None:
    outputs = Outputs(tiny.run, tiny.home)
    for step, output in (("synthesize", "canaries.jsonl"), ("train@SM95-0", "model")):
        with pytest.raises(InputError) as caught:
            outputs.json(step, output)
        assert caught.value.code == "restricted"


def test_removed_outputs_say_to_run_again(tiny: SimpleNamespace) -> None:
    record = tiny.fake.records["attack@SM95-1"]
    shutil.rmtree(tiny.home / "store" / "attack" / record.id)
    with pytest.raises(InputError, match="run the same pipeline again") as caught:
        load_results(tiny.run, tiny.home)
    assert caught.value.code == "output-missing"
    with pytest.raises(InputError) as caught:
        Outputs(tiny.run, tiny.home).json("unknown", "x.json")
    assert caught.value.code == "output-missing"


def test_the_table_has_ten_rows_at_most(prototype: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(load_results(prototype.run, prototype.home))
    lines = capsys.readouterr().out.splitlines()
    header, rule, *table = lines[: lines.index("")]
    assert header.startswith("condition")
    assert set(rule) == {"-", " "}
    assert len(table) == 9
    assert {len(line) for line in (header, rule, *table)} == {len(header)}
    assert "98.6 % [92.5, 99.8]" in next(line for line in table if line.startswith("unmasked"))
    assert sum(line.startswith("holds") for line in lines) == 6


def test_a_sweep_shows_an_even_choice() -> None:
    names = ["base", "unmasked", "oracle", *(f"SM{p}" for p in range(5, 100, 5)), "random50", "random95", "goldfish3"]
    shown = [row["condition"] for row in headline([{"condition": name} for name in names])]
    assert shown == ["base", "unmasked", "oracle", "SM5", "SM25", "SM50", "SM75", "SM95", "random95", "goldfish3"]


def test_json_needs_no_heavy_library(tiny: SimpleNamespace) -> None:
    script = (
        "import sys; from pathlib import Path; from sm_ops.core.home import Run; "
        "from sm_ops.report.surprise.results import load_results; "
        f"load_results(Run.load(Path({str(tiny.run.folder)!r})), Path({str(tiny.home)!r})); "
        "print([m for m in ('matplotlib', 'torch', 'pyarrow', 'transformers', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
