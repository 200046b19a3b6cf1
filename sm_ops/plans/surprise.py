"""The main job's steps: a matrix of references, and one of conditions and seeds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Output, Stage, Step
from sm_ops.detectors.batches import own_threshold
from sm_ops.masking.conditions import BASE, surprise_at, trainings
from sm_ops.plans.steps import make_step, outputs_of
from sm_ops.stages import (
    ASSESS,
    ATTACK,
    AUDIT,
    BASE_MODEL,
    CALIBRATE,
    COMPLETE,
    DETECT,
    EVALUATE,
    EXECUTE,
    FIT,
    GENERAL,
    MASK,
    REDACT,
    SCORE,
    SYNTHESIZE,
    TRAIN,
)


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads."""
    config = located(config, home_folder())
    dataset = registry.load("dataset", config["data"]["dataset"])
    named = config["base"]["name"] is not None
    base = {} if named else {"base": ("base", "model")}
    steps = [
        make_step(SYNTHESIZE, config, inputs={}),
        make_step(AUDIT, config, inputs=outputs_of("synthesize", *(output.name for output in SYNTHESIZE.outputs))),
    ]
    audited = {"audit": ("audit", "findings.json")}
    if hasattr(dataset, "trials"):
        inputs = outputs_of("synthesize", "calibration.jsonl", "train.jsonl", "utility.jsonl", "reference.jsonl")
        steps.append(make_step(EXECUTE, config, inputs=inputs))
        audited |= {"executed": ("execute", "programs.json")}
    mixture, mixed = {}, {}
    if config["mixture"]:
        mixture = outputs_of("general", "general")
        mixed = {"mixture": {"domain_tokens": config["mixture"]["domain_tokens"]}}
        inputs = outputs_of("synthesize", "public.jsonl", "reference.jsonl")
        steps.append(make_step(GENERAL, config, inputs=inputs | audited))
    in_base = mixture and config["train"]["method"] == "continue"
    if not named:
        inputs = outputs_of("synthesize", "public.jsonl", "reference.jsonl")
        inputs |= outputs_of("general", "tokenizer") if mixture else {}
        inputs |= mixture | outputs_of("synthesize", "train.jsonl") if in_base else {}
        stage, own = (_with_mixture(BASE_MODEL), mixed) if in_base else (BASE_MODEL, {})
        steps.append(make_step(stage, config, inputs=inputs | audited, own=own))
    config = {**config, "base": {**config["base"], "tokenizer": None}}  # the base model's folder has it

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

    detections = {}
    for name, detection in config["masking"]["detectors"].items():
        steps.append(_detect(config, name, detection, audited))
        for split in ("calibration", "train"):
            detections[f"detections/{name}/{split}"] = (steps[-1].name, f"{split}.parquet")

    scores = {f"scores/{n}": (f"score@{n}", "calibration.parquet") for n in config["references"]}
    inputs = outputs_of("synthesize", "calibration.jsonl") | scores | base
    steps.append(make_step(CALIBRATE, config, inputs=inputs))
    conditions = trainings(Settings(config["masking"]), Settings(config["train"]))
    inputs = outputs_of("synthesize", "train.jsonl", "canaries.jsonl") | base | detections
    inputs |= outputs_of("synthesize", "calibration.jsonl") if detections else {}
    inputs |= {
        "scores": (f"score@{config['masking']['reference']}", "train.parquet"),
        "thresholds": ("calibrate", "calibration.json"),
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
            inputs |= {} if in_base else mixture
            stage = _with_mixture(TRAIN) if mixture else TRAIN
            steps.append(make_step(stage, config, inputs=inputs, cell=cell, own=own | {"train": train} | mixed))
        for condition in (BASE, *conditions):
            cell = (condition, str(seed))
            model = {} if condition == BASE else {"model": (f"train@{condition}-{seed}", "model")}
            if getattr(dataset, "CANARIES", True):
                steps.append(make_step(ATTACK, config, inputs=canaries | base | model, cell=cell, own=own))
            steps.append(make_step(EVALUATE, config, inputs=utility | base | model, cell=cell))
            if config["completions"]["samples"]:
                steps.append(make_step(COMPLETE, config, inputs=utility | base | model, cell=cell, own=own))
                inputs = utility | {"completions": (f"complete@{'-'.join(cell)}", "completions.jsonl")}
                steps.append(make_step(ASSESS, config, inputs=inputs, cell=cell))
    return steps


PLACES = ("model", "records")
"""Settings of detectors that may name a file or folder."""


def _detect(config: dict[str, Any], name: str, detection: dict[str, Any], audited: dict[str, tuple[str, str]]) -> Step:
    """A detector on both labelled splits; at which threshold its findings count is not its own."""
    detector, settings = detection["detector"], detection["settings"]
    if detection["target"] is not None and own_threshold(detector, settings) is not None:
        raise InputError(
            "needless-target",
            f"masking.detectors.{name}.target: the detector {detector!r} so set says itself what is to be masked; "
            "leave target out, or take an output that leaves the threshold to validation.",
        )
    own = {"detection": {"detector": detector, "settings": settings}}
    places = tuple(f"detection.settings.{each}" for each in PLACES if each in settings)
    inputs = outputs_of("synthesize", "calibration.jsonl", "train.jsonl") | audited
    return make_step(replace(DETECT, places=places), config, inputs=inputs, cell=(name,), own=own)


def _with_mixture(stage: Stage) -> Stage:
    """A training that counts out the domain's tokens; those of the general text it reads."""
    return replace(stage, sections=(*stage.sections, "mixture"))
