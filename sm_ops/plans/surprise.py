"""The main job's steps: a matrix of references, and one of conditions and seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sm_ops.core import registry
from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Output, Step
from sm_ops.masking.conditions import BASE, surprise_at, trainings
from sm_ops.plans.steps import make_step, outputs_of
from sm_ops.stages import (
    ATTACK,
    AUDIT,
    BASE_MODEL,
    CALIBRATE,
    EVALUATE,
    EXECUTE,
    FIT,
    MASK,
    REDACT,
    SCORE,
    SYNTHESIZE,
    TRAIN,
)


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads."""
    config = located(config, home_folder())
    named = config["base"]["name"] is not None
    base = {} if named else {"base": ("base", "model")}
    steps = [
        make_step(SYNTHESIZE, config, inputs={}),
        make_step(AUDIT, config, inputs=outputs_of("synthesize", *(output.name for output in SYNTHESIZE.outputs))),
    ]
    audited = {"audit": ("audit", "findings.json")}
    if hasattr(registry.load("dataset", config["data"]["dataset"]), "trials"):
        inputs = outputs_of("synthesize", "calibration.jsonl", "train.jsonl", "utility.jsonl", "reference.jsonl")
        steps.append(make_step(EXECUTE, config, inputs=inputs))
        audited |= {"executed": ("execute", "programs.json")}
    if not named:
        inputs = outputs_of("synthesize", "public.jsonl", "reference.jsonl")
        steps.append(make_step(BASE_MODEL, config, inputs=inputs | audited))

    for name, reference in config["references"].items():
        own = {"reference": reference}
        model = base if reference["backend"] == "hf" and reference["model"] is None else {}
        if reference["fit"] or (reference["backend"] == "ngram" and reference["model"] is None):
            inputs = outputs_of("synthesize", "public.jsonl", "reference.jsonl") | model | audited
            steps.append(make_step(FIT, config, inputs=inputs, cell=(name,), own=own))
            model = {"fitted": (f"fit@{name}", "model")}
        inputs = outputs_of("synthesize", "calibration.jsonl", "train.jsonl", "reference.jsonl")
        files = ("reference.violating",) if reference["backend"] == "file" else ()  # elsewhere it is a prompt
        score = replace(SCORE, places=SCORE.places + files)
        steps.append(make_step(score, config, inputs=inputs | model | audited, cell=(name,), own=own))

    scores = {f"scores/{n}": (f"score@{n}", "calibration.parquet") for n in config["references"]}
    inputs = outputs_of("synthesize", "calibration.jsonl") | scores | base
    steps.append(make_step(CALIBRATE, config, inputs=inputs))
    conditions = trainings(Settings(config["masking"]), Settings(config["train"]))
    inputs = outputs_of("synthesize", "train.jsonl", "canaries.jsonl") | base
    inputs |= {
        "scores": (f"score@{config['masking']['reference']}", "train.parquet"),
        "calibration": ("calibrate", "calibration.json"),
    }
    masks = dict.fromkeys(mask for mask, _ in conditions.values())
    training_sets = tuple(Output(f"{mask}.parquet", "restricted") for mask in masks)
    steps.append(make_step(replace(MASK, outputs=MASK.outputs + training_sets), config, inputs=inputs))

    point = surprise_at(config["redact"]["target"] or max(config["masking"]["targets"]))
    inputs = outputs_of("synthesize", "train.jsonl") | outputs_of("mask", "masks.parquet")
    steps.append(make_step(REDACT, config, inputs=inputs, own={"redact": {"point": point}}))

    canaries = outputs_of("synthesize", "canaries.jsonl")
    utility = outputs_of("synthesize", "utility.jsonl")
    for seed in config["seeds"]:
        own = {"seed": seed}
        for condition, (mask, intervention) in conditions.items():
            cell = (condition, str(seed))
            inputs = {"training": ("mask", f"{mask}.parquet")} | base
            train = {**config["train"], "intervention": intervention, "compare": []}
            steps.append(make_step(TRAIN, config, inputs=inputs, cell=cell, own=own | {"train": train}))
        for condition in (BASE, *conditions):
            cell = (condition, str(seed))
            model = {} if condition == BASE else {"model": (f"train@{condition}-{seed}", "model")}
            steps.append(make_step(ATTACK, config, inputs=canaries | base | model, cell=cell, own=own))
            steps.append(make_step(EVALUATE, config, inputs=utility | base | model, cell=cell))
    return steps
