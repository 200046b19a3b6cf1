"""Fake runs: synthetic outputs committed through the real store, so that reports read what stages would leave."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.core.stage import Output, Stage, Step
from sm_ops.core.store import Record, Store

SECRET = "svc-kwargs-9f3e@planted.example"
"""What a canary's value would look like; no report may show it."""


class FakeRun:
    """Collects steps, then saves them as a run."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.store = Store(home)
        self.records: dict[str, Record] = {}

    def add(self, step: str, outputs: dict[str, Any], cls: str = "internal", seconds: float = 1.5, **numbers) -> None:
        name = step.partition("@")[0]
        declared = tuple(Output(output, cls) for output in outputs)
        fake = Step(step, Stage(name, 1, "nowhere:run", declared), {})
        fingerprint = fs.sha256(f"{step} {self.home.name}".encode())
        with self.store.workspace(fake, fingerprint) as workspace:
            for output in declared:
                workspace.path(output).write_text(json.dumps(outputs[output.name]), encoding="utf-8")
            stored = {output.name: self.store.describe(output, workspace.path(output)) for output in declared}
            finished = "2026-01-02T03:04:05.678+00:00"
            record = Record(step, name, fingerprint, {}, stored, numbers, seconds, finished)
            self.store.commit(record, workspace)
        self.records[step] = record

    def finish(self, config: dict[str, Any]) -> Run:
        return Run.save(self.home, config, self.records)


def outcome(id_: str, kind: str, approx: int | None, exact: int | None, p: float) -> dict[str, Any]:
    return {
        "id": id_, "kind": kind, "length": 8, "hidden": 2, "samples": 128,
        "first_approx": approx, "first_exact": exact, "p_exact": p,
    }  # fmt: skip


def covered(budget: int, coverage: float, collateral: float, canaries: dict[str, tuple[int, int, int]]) -> dict:
    occurrences = {id_: dict(zip(("fully", "partly", "none"), each, strict=True)) for id_, each in canaries.items()}
    return {
        "budget_tokens": budget,
        "eligible_tokens": 1000,
        "target_tokens": 200,
        "target_coverage": coverage,
        "collateral_rate": collateral,
        "canaries_exposed": sum(each[2] > 0 for each in canaries.values()),
        "canaries": occurrences,
    }


def calibration(points: dict[str, tuple[float, float, float]]) -> dict[str, Any]:
    names = ("tau", "target_coverage", "collateral_rate")
    histogram = {
        "edges": [0.0, 1.0, 2.0, 4.0, 8.0],
        "target": [1, 4, 20, 70],
        "other": [400, 300, 80, 20],
        "never": [5, 100],
    }
    chosen = {
        "auroc": 0.97,
        "verdict": {"decision": "suitable", "advice": "use it", "reason": "SM95 covers 95.0 % for <3 % of the others."},
        "target_tokens": 100,
        "other_tokens": 900,
        "independent_units": 5,
        "acceptable": {"target_coverage": 0.98},
        "points": {
            name: {**dict(zip(names, point, strict=True)), "reached": True, "masked": 10, "interval": [0.5, 1.0]}
            for name, point in points.items()
        },
        "curve": {"target_coverage": [0.0, 1.0], "collateral_rate": [0.0, 1.0]},
        "histogram": histogram,
    }
    inverted = {
        "decision": "inverted",
        "advice": "do not use it",
        "reason": "Target tokens are less surprising than the rest.",
    }
    return {"references": {"ngram": {**chosen, "auroc": 0.41, "verdict": inverted}, "tiny": chosen}}


def strip(conditions: list[str]) -> dict[str, Any]:
    """Four tokens on two lines; the second has no score, the third is a target and masked."""
    return {
        "line": [0, 0, 1, 1],
        "column": [0, 4, 4, 9],
        "width": [4, 5, 5, 3],
        "surprise": [0.5, None, 9.25, 1.0],
        "target": [False, False, True, False],
        "masks": {name: [False, False, name in ("SM95", "oracle"), False] for name in conditions},
    }


def config(**changes: Any) -> dict[str, Any]:
    return {
        "name": "tiny",
        "seeds": [0, 1],
        "base": {"name": None, "layers": 2, "width": 128, "heads": 4, "vocab_size": 2048},
        "data": {"dataset": "code_pii"},
        "masking": {
            "reference": "tiny", "targets": [0.95], "by": None, "baselines": {"random": [0.95]},
            "select": "global", "windows": "fixed", "n": 4, "k": 4, "acceptable_collateral": 0.25,
        },
        "train": {"method": "continue", "intervention": "loss", "compare": []},
        "attack": {"budgets": [8, 1]},
    } | changes


HITS = {  # first approximate and first exact hit of each canary, by condition and seed
    "base": ([(None, None)] * 3, [(None, None)] * 3),
    "unmasked": ([(1, 1), (2, 9), (8, None)], [(1, 2), (None, None), (9, None)]),
    "oracle": ([(None, None)] * 3, [(None, None)] * 3),
    "SM95": ([(None, None)] * 3, [(3, None), (None, None), (None, None)]),
    "random95": ([(1, None)] * 3, [(1, None)] * 3),
}
NLL = {"base": (2.0, 2.0), "unmasked": (1.0, 1.2), "oracle": (0.9, 0.9), "SM95": (1.1, 1.2), "random95": (1.5, 1.5)}
BOUND = {
    "SM95": {
        "refusal": None,
        "summary": {
            "targets": 9, "masked": 7, "short": 1, "unscored": 0, "bounded": 1,
            "log_p": [-9.5] * 3, "log_p_lower": [-20.0] * 3, "log_samples_upper": [20.0] * 3,
        },
        "unmasked": [
            {"label": "user", "status": "short", "m": 2,
             "log_p": None, "log_p_lower": None, "log_samples_upper": None},
            {"label": "path", "status": "bounded", "m": 5,
             "log_p": -9.5, "log_p_lower": -20.0, "log_samples_upper": 20.0},
        ],
    }
}  # fmt: skip
APPLICATION = {
    "acceptable": {"target_coverage": 0.96},
    "gap": 0.02,
    "auroc": 0.91,
    "auroc_interval": [0.85, 0.96],
    "f1": {"value": 0.7, "low": 0.6, "high": 0.8},
    "curve": {"target_coverage": [0.0, 0.9, 1.0], "collateral_rate": [0.0, 0.1, 1.0]},
}
KINDS = ("user", "user", "path")


def make_tiny(
    home: Path,
    seeds: tuple[int, ...] = (0, 1),
    ids: tuple[str, ...] = ("c-1", "c-2", "c-3"),
    kinds: tuple[str, ...] = KINDS,
    tokens: tuple[int, ...] = (30, 10),
    **train_numbers: int,
) -> SimpleNamespace:
    """At most two seeds and three canaries, small enough to compute by hand; no Goldfish."""
    fake = FakeRun(home)
    for condition, by_seed in HITS.items():
        chances = (0.5, 0.0, 1.0) if condition == "unmasked" else (0.0, 0.0, 0.0)
        for seed in seeds:
            canaries = zip(ids, kinds, by_seed[seed], chances, strict=False)
            outcomes = [outcome(id_, kind, *first, p) for id_, kind, first, p in canaries]
            fake.add(f"attack@{condition}-{seed}", {"outcomes.json": outcomes}, seconds=2.0)
            sums = [-count * NLL[condition][seed] for count in tokens]
            utility = {"logprob_sums": sums, "tokens": list(tokens)}
            fake.add(f"evaluate@{condition}-{seed}", {"utility.json": utility}, seconds=0.5)
            if condition != "base":
                fake.add(f"train@{condition}-{seed}", {"model": SECRET}, "restricted", 10.0, **train_numbers)
    fake.add("synthesize", {"canaries.jsonl": {"value": SECRET}}, "restricted", 3.0)
    fake.add("score@tiny", {"calibration.parquet": SECRET}, "restricted", 36.0, tokens=500_000)
    plain, whole = [(0, 0, 4)] * 3, [(4, 0, 0)] * 3
    coverage = {
        "unmasked": covered(0, 0.0, 0.0, dict(zip(ids, plain, strict=False))),
        "oracle": covered(200, 1.0, 0.0, dict(zip(ids, whole, strict=False))),
        "SM95": covered(222, 0.93, 0.045, dict(zip(ids, [(2, 1, 1), (4, 0, 0), (0, 4, 0)], strict=False))),
        "random95": covered(222, 0.22, 0.222, dict(zip(ids, plain, strict=False))),
    }
    outputs = {"coverage.json": coverage, "strip.json": strip(list(coverage))}
    outputs |= {"application.json": APPLICATION, "bound.json": BOUND}
    fake.add("mask", outputs)
    fake.add("calibrate", {"calibration.json": calibration({"SM95": (2.5, 0.95, 0.03)})})
    return SimpleNamespace(run=fake.finish(config(seeds=list(seeds))), home=home, fake=fake)


PROTOTYPE = {  # target coverage, collateral, extraction by seed, NLL by seed
    "base": (None, None, (0.04, 0.08, 0.04), (1.02, 1.02, 1.02)),
    "unmasked": (0.0, 0.0, (0.96, 1.0, 1.0), (0.683, 0.682, 0.683)),
    "oracle": (1.0, 0.0, (0.0, 0.0, 0.04), (0.643, 0.642, 0.659)),
    "SM50": (0.71, 0.002, (0.33, 0.33, 0.29), (0.668, 0.676, 0.669)),
    "SM70": (0.85, 0.004, (0.25, 0.25, 0.25), (0.662, 0.665, 0.664)),
    "SM90": (0.94, 0.012, (0.08, 0.04, 0.04), (0.671, 0.674, 0.679)),
    "SM95": (0.99, 0.031, (0.0, 0.0, 0.04), (0.687, 0.688, 0.702)),
    "random95": (0.18, 0.18, (0.83, 0.96, 0.92), (0.728, 0.712, 0.714)),
    "goldfish3": (0.36, 0.33, (0.67, 0.63, 0.67), (0.851, 0.842, 0.838)),
}


def make_prototype(home: Path) -> SimpleNamespace:
    """Three seeds, 24 canaries, the default conditions; numbers like the prototype's in shared/models.md."""
    rng = np.random.default_rng(0)
    fake = FakeRun(home)
    kinds = [kind for kind in ("username", "workspace_path", "account_id", "recovery_credential") for _ in range(6)]
    ids = [f"{kind}-{index % 6 + 1:02d}" for index, kind in enumerate(kinds)]
    difficulty = rng.random(24)
    coverage = {}
    for condition, (target, collateral, rates, nlls) in PROTOTYPE.items():
        for seed, (rate, nll) in enumerate(zip(rates, nlls, strict=True)):
            order = np.argsort(difficulty + 0.1 * rng.random(24))
            first = np.full(24, -1)
            first[order[: round(24 * rate)]] = np.minimum(1 + rng.geometric(0.08, round(24 * rate)), 128)
            outcomes = [
                outcome(i, k, None if f < 0 else int(f), None if f < 2 else int(f), 0.0 if f < 0 else min(0.9, 1 / f))
                for i, k, f in zip(ids, kinds, first.tolist(), strict=True)
            ]
            fake.add(f"attack@{condition}-{seed}", {"outcomes.json": outcomes}, seconds=4 + rng.random())
            utility = {"logprob_sums": [-100 * nll] * 60, "tokens": [100] * 60}
            fake.add(f"evaluate@{condition}-{seed}", {"utility.json": utility}, seconds=0.7)
            if target is not None:
                fake.add(f"train@{condition}-{seed}", {"model": SECRET}, "restricted", 12 + rng.random())
        if target is not None:
            fully = rng.binomial(8, target, 24)
            partly = rng.binomial(8 - fully, 0.6)
            occurrences = {i: (int(f), int(p), int(8 - f - p)) for i, f, p in zip(ids, fully, partly, strict=True)}
            coverage[condition] = covered(round(3000 * target + 30000 * collateral), target, collateral, occurrences)
    fake.add("synthesize", {"canaries.jsonl": {"value": SECRET}}, "restricted", 6.1)
    fake.add("base", {"model": SECRET}, "restricted", 61.0)
    outputs = {"coverage.json": coverage, "strip.json": code_strip(rng, list(coverage))}
    outputs |= {"application.json": APPLICATION, "bound.json": BOUND}
    fake.add("mask", outputs, seconds=3.2)
    points = {"SM50": (6.1, 0.5, 0.001), "SM70": (4.9, 0.7, 0.003), "SM90": (3.4, 0.9, 0.011)}
    points["SM95"] = (3.0, 0.95, 0.03)
    calibrated = calibration(points)
    scores = np.concatenate([rng.gamma(9, 0.75, 900), rng.gamma(1.2, 0.7, 9000)])
    edges = np.histogram_bin_edges(scores, 48)
    calibrated["references"]["tiny"]["histogram"] = {
        "edges": edges.tolist(),
        "target": np.histogram(scores[:900], edges)[0].tolist(),
        "other": np.histogram(scores[900:], edges)[0].tolist(),
        "never": [3, 412],
    }
    fake.add("calibrate", {"calibration.json": calibrated})
    masking = config()["masking"] | {
        "targets": [0.5, 0.7, 0.9, 0.95],
        "baselines": {"random": [0.95], "goldfish": [3]},
    }
    settings = config(seeds=[0, 1, 2], masking=masking, attack={"budgets": [1, 8, 16, 32, 64, 128]})
    return SimpleNamespace(run=fake.finish(settings), home=home, fake=fake)


def code_strip(rng: np.random.Generator, conditions: list[str]) -> dict[str, Any]:
    """Tokens placed like a module of 24 lines."""
    line, column, width, target = [], [], [], []
    for number in range(24):
        place = 4 * int(rng.integers(0, 3))
        for _ in range(int(rng.integers(3, 14))):
            size = int(rng.integers(1, 7))
            for values, value in ((line, number), (column, place), (width, size)):
                values.append(value)
            target.append(number in (6, 15, 16) and 20 < place < 44)
            place += size
        width[-1] += 1
    surprise = [float(rng.gamma(9, 0.75) if t else rng.gamma(1.2, 0.7)) for t in target]
    masked = [bool(t or s > 5) for t, s in zip(target, surprise, strict=True)]
    masks = {name: masked if name.startswith("SM") else target for name in conditions}
    return {"line": line, "column": column, "width": width, "surprise": surprise, "target": target, "masks": masks}
