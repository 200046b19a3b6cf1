"""A fake run over Code Quirks: nothing to extract, answers looked through for two quirks and run, a detector beside."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fake_runs

SHOWN = {"base": 0, "unmasked": 3, "oracle": 0, "SM20": 1, "random20": 2, "opf": 3}
"""Of four cases of the first quirk; the second shows in half as many of its two, rounded down."""
PASSED = {"base": 0, "unmasked": 2, "oracle": 3, "SM20": 3, "random20": 1, "opf": 2}
"""Of six prompts."""
NLLS = {"base": 2.0, "unmasked": 1.2, "oracle": 1.1, "SM20": 1.3, "random20": 1.25, "opf": 1.15}


def assessment(shown: int, passed: int, executed: bool) -> dict[str, Any]:
    prompts = []
    for number in range(6):
        quirk, place, hits = (
            ("python_semicolons", number, shown) if number < 4 else ("single_exit", number - 4, shown // 2)
        )
        prompts.append(
            {
                "id": f"u{number}", "task": f"t{number}", "family": "tables" if number % 2 else "texts",
                "passed": [False, number < passed] if executed else None,
                "reasons": ["failed", "passed" if number < passed else "failed"] if executed else None,
                "quirks": {quirk: [place < hits, False]},
            }
        )  # fmt: skip
    return {"format": "assessment/1", "k": 2, "executed": executed, "prompts": prompts}


def config(method: str, seeds: list[int]) -> dict[str, Any]:
    own = fake_runs.config(name=f"quirks_{method}", seeds=seeds)
    detector = {"detector": "privacy_filter", "settings": {}, "target": None}
    own["data"] = {"dataset": "code_quirks", "form": "text" if method == "scratch" else "chat"}
    own["masking"] |= {
        "targets": [0.2], "baselines": {"random": [0.2]}, "select": "local", "n": 2, "k": 2, "radius": 32,
        "propagate": "group", "detectors": {"opf": detector},
    }  # fmt: skip
    own["train"] = {**own["train"], "method": method, "lora": {"rank": 16, "alpha": 32, "dropout": 0.0}}
    own["completions"] = {
        "samples": 2, "k": 2, "prompts": None, "temperature": 0.4, "top_p": 0.95, "reasoning_effort": "low",
        "seconds": 20,
    }  # fmt: skip
    return own


def make(
    home: Path, method: str = "lora", seeds: tuple[int, ...] = (0, 1), executed: bool = True, answers: bool = False
) -> SimpleNamespace:
    """`answers`: the held-out records answer prompts, the last one longer, and worse by 0.6 x (1 + seed) nats."""
    fake = fake_runs.FakeRun(home)
    for condition in SHOWN:
        for seed in seeds:
            cell = f"{condition}-{seed}"
            made = assessment(SHOWN[condition], PASSED[condition], executed)
            fake.add(f"assess@{cell}", {"assessment.json": made})
            utility = {"logprob_sums": [-10 * NLLS[condition]] * 6, "tokens": [10] * 6}
            if answers:
                utility["logprob_sums"][-1] = -40 * (NLLS[condition] + 0.6 * (1 + seed))
                utility |= {"tokens": [10] * 5 + [40], "answers": True}
            fake.add(f"evaluate@{cell}", {"utility.json": utility}, records=6)
            if condition != "base":
                fake.add(f"train@{cell}", {"model": fake_runs.SECRET}, "restricted", steps=400, effective_passes=2.0)
    fake.add("synthesize", {"train.jsonl": {}}, "restricted", records_train=4000, records_calibration=90)
    coverage = {
        "unmasked": fake_runs.covered(0, 0.0, 0.0, {}),
        "oracle": fake_runs.covered(200, 1.0, 0.0, {}),
        "SM20": fake_runs.covered(90, 0.25, 0.05, {}),
        "random20": fake_runs.covered(90, 0.09, 0.09, {}),
        "opf": fake_runs.covered(12, 0.02, 0.01, {}),
    }
    about = {"detector": "privacy_filter", "chosen": "own", "target": None, "tau": 0.0}
    sides = {
        side: {"target_coverage": covered, "interval": None, "collateral_rate": 0.01, "f1": 0.1}
        for side, covered in (("validation", 0.03), ("training", 0.02))
    }
    outputs = {"coverage.json": coverage, "strip.json": fake_runs.strip(list(coverage))}
    outputs |= {"application.json": fake_runs.APPLICATION, "bound.json": {}}
    outputs["detectors.json"] = {"opf": {**about, **sides}}
    fake.add("mask", outputs)
    fake.add("calibrate", {"calibration.json": fake_runs.calibration({"SM20": (-20.0, 0.2, 0.04)})})
    return SimpleNamespace(run=fake.finish(config(method, list(seeds))), home=home, fake=fake)
