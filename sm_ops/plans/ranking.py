"""The steps that rank whole outputs: pairs once, a matrix of references, and one measure of all scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.registry import load
from sm_ops.core.stage import Step
from sm_ops.plans.references import is_fitted, places
from sm_ops.plans.steps import make_step, outputs_of
from sm_ops.stages import RANK_FIT, RANK_MEASURE, RANK_PAIRS, RANK_SCORE

SIDES = ("validation.jsonl", "application.jsonl")


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads. Raises `InputError` for a rule whose reference lacks a prompt."""
    config = located(config, home_folder())
    rules = {score["rule"]: {} for score in config["scores"].values()}
    for name, score in config["scores"].items():
        _check(name, score, config["references"][score["reference"]])
    steps = [make_step(RANK_PAIRS, config, inputs={})]
    used = {score["reference"] for score in config["scores"].values()}
    scores = {}
    for name in sorted(used):
        reference, called = config["references"][name], {"reference": f"references.{name}"}
        inputs = outputs_of("rank_pairs", *SIDES)
        if is_fitted(reference):
            learnt = outputs_of("rank_pairs", "validation.jsonl", "clean.jsonl")
            own = {"reference": reference}
            steps.append(make_step(RANK_FIT, config, inputs=learnt, cell=(name,), own=own, called=called))
            inputs |= {"fitted": (f"rank_fit@{name}", "model")}
        own, stage = {"reference": reference}, replace(RANK_SCORE, places=places(reference))
        steps.append(make_step(stage, config, inputs=inputs, cell=(name,), own=own, called=called))
        for side in ("validation", "application"):
            scores[f"scores/{name}/{side}"] = (f"rank_score@{name}", f"{side}.parquet")
    inputs = outputs_of("rank_pairs", *SIDES) | scores
    steps.append(make_step(RANK_MEASURE, config, inputs=inputs, own={"rules": rules}))
    return steps


def _check(name: str, score: dict[str, Any], reference: dict[str, Any]) -> None:
    """A file of scores says itself what stood before them; a rule of another package may need nothing."""
    needs = getattr(load("ranking", score["rule"]), "NEEDS", "nothing")
    missing = {"nothing": [], "prompt": ["prompt"], "contrast": ["prompt", "violating"]}[needs]
    lacking = [each for each in missing if reference[each] is None]
    if reference["backend"] == "file" or not lacking:
        return
    where = f"references.{score['reference']}"
    raise InputError(
        "no-prompt",
        f"scores.{name}: rule {score['rule']} needs {' and '.join(f'{where}.{each}' for each in lacking)}; an n-gram "
        "takes no prompt, a model with backend hf does.",
    )
