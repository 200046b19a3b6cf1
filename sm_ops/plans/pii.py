"""The PII pipeline's steps: the base model and a tuned one a seed, detectors beside them, all judged alike."""

from __future__ import annotations

from typing import Any

from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.stage import Step
from sm_ops.detectors.named import detectors
from sm_ops.plans.steps import make_step, outputs_of
from sm_ops.stages import PII_BASE, PII_DETECT, PII_EVALUATE, PII_EXTRACT, PII_GENERATE, PII_MASK, PII_TUNE

BASE = "base"


def finders(config: dict[str, Any]) -> list[str]:
    """What finds PII in this pipeline, in the order of its tables: detectors, the base model, a model a seed."""
    return [*config["detectors"], BASE, *(f"tuned_{seed}" for seed in config["seeds"])]


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads."""
    config = located(config, home_folder())
    test = outputs_of("pii_generate", "test.jsonl")
    steps = [make_step(PII_GENERATE, config, inputs={})]
    predicted = {}
    for name in config["detectors"]:
        own = {"detector": name, "detectors": detectors(name, {})}
        steps.append(make_step(PII_DETECT, config, inputs=test, cell=(name,), own=own))
        predicted[name] = f"pii_detect@{name}"

    base = {}
    if config["base"]["name"] is None:
        steps.append(make_step(PII_BASE, config, inputs=outputs_of("pii_generate", "train.jsonl")))
        base = {"base": ("pii_base", "model")}
    steps.append(make_step(PII_EXTRACT, config, inputs=test | base, cell=(BASE,)))
    for seed in config["seeds"]:
        training = outputs_of("pii_generate", "train.jsonl", "validation.jsonl")
        steps.append(make_step(PII_TUNE, config, inputs=training | base, cell=(str(seed),), own={"seed": seed}))
        model = {"model": (f"pii_tune@{seed}", "model")}
        steps.append(make_step(PII_EXTRACT, config, inputs=test | base | model, cell=(f"tuned_{seed}",)))
    predicted |= {name: f"pii_extract@{name}" for name in finders(config) if name not in predicted}

    for name in finders(config):
        inputs = test | {"predictions": (predicted[name], "predictions.jsonl")}
        if name != BASE:  # what an untuned model takes for private is of no use to anybody
            steps.append(make_step(PII_MASK, config, inputs=inputs, cell=(name,)))
        steps.append(make_step(PII_EVALUATE, config, inputs=inputs, cell=(name,)))
    return steps
