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
from sm_ops.detectors import named
from sm_ops.detectors.batches import own_threshold
from sm_ops.masking.conditions import BASE, surprise_at, trainings
from sm_ops.plans.references import is_fitted, places
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

AUDITED = {"audit": ("audit", "findings.json")}
ASKED = ("samples", "prompts", "temperature", "top_p", "max_tokens", "reasoning_effort", "batch_size", "dtype")
"""What an answer depends on, of `completions`; beside it the device and its threads."""
JUDGED = ("k", "execute", "seconds")
"""What the judgement of an answer depends on."""
CONDITIONS = ("baselines", "detectors", "seed")
"""Of `masking`, what thresholds do not depend on."""

Inputs = dict[str, tuple[str, str]]


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads. Raises `InputError` for what the data or a detector cannot do."""
    config = located(config, home_folder())
    dataset = registry.load("dataset", config["data"]["dataset"])
    _check_answers(config, dataset)
    audited = AUDITED | ({"executed": ("execute", "programs.json")} if hasattr(dataset, "trials") else {})
    base = {} if config["base"]["name"] is not None else {"base": ("base", "model")}
    steps = [*_data(config, audited), *_base(config, base, audited)]
    config = {**config, "base": {**config["base"], "tokenizer": None}}  # the base model's folder has it
    measured = {**config, "base": _only(config["base"], "name", "revision")}
    for name in config["references"]:
        steps += _reference(config, name, base, audited)
    steps += [_detect(config, name, audited) for name in config["masking"]["detectors"]]
    steps += _masks(measured, base)
    for seed in config["seeds"]:
        steps += _trainings(config, seed, base)
        for condition in (BASE, *_conditions(config)):
            steps += _measures(measured, dataset, condition, seed, base)
    return steps


def _check_answers(config: dict[str, Any], dataset: Any) -> None:
    """Before anything is made: answers are run by tests, or looked at for quirks, as far as the data has them."""
    asks, name = config["completions"], config["data"]["dataset"]
    if not asks["samples"]:
        return
    styles = hasattr(dataset, "styles")
    if asks["execute"] and not hasattr(dataset, "tasks"):
        instead = "completions.execute to false" if styles else "completions.samples to 0"
        hint = f"The data set {name!r} has no tasks whose tests could be run; set {instead}."
        raise InputError("no-tasks", hint)
    if not asks["execute"] and not styles:
        raise InputError(
            "nothing-looked-at",
            f"The data set {name!r} has no quirks to look for in answers, which are not run (completions.execute), so "
            "nothing would be measured on them; set completions.samples to 0.",
        )


def _data(config: dict[str, Any], audited: Inputs) -> list[Step]:
    """The records, what the audit finds in them, and where they are programs what became of each."""
    steps = [
        make_step(SYNTHESIZE, config, inputs={}),
        make_step(AUDIT, config, inputs=outputs_of("synthesize", *(output.name for output in SYNTHESIZE.outputs))),
    ]
    if "executed" in audited:
        inputs = outputs_of("synthesize", "calibration.jsonl", "train.jsonl", "utility.jsonl", "reference.jsonl")
        steps.append(make_step(EXECUTE, config, inputs=inputs))
    return steps


def _base(config: dict[str, Any], base: Inputs, audited: Inputs) -> list[Step]:
    """What is made of clean text: the tokens of a mixture, and the model where none is named."""
    steps, clean = [], outputs_of("synthesize", "public.jsonl", "reference.jsonl")
    if config["mixture"]:
        own = {
            "base": _only(config["base"], "tokenizer", "vocab_size"),
            "mixture": _only(config["mixture"], "general", "general_tokens"),
        }
        steps.append(make_step(GENERAL, config, inputs=clean | audited, own=own))
    if not base:
        return steps
    inputs = clean | (outputs_of("general", "tokenizer") if config["mixture"] else {})
    if not _in_base(config):
        return [*steps, make_step(BASE_MODEL, config, inputs=inputs | audited)]
    inputs |= outputs_of("general", "general") | outputs_of("synthesize", "train.jsonl")
    return [*steps, make_step(_with_mixture(BASE_MODEL), config, inputs=inputs | audited, own=_mixed(config))]


def _reference(config: dict[str, Any], name: str, base: Inputs, audited: Inputs) -> list[Step]:
    """One reference's scores of both labelled splits, and its fit where it has one."""
    steps, reference = [], config["references"][name]
    own, cell, called = {"reference": reference}, (name,), {"reference": f"references.{name}"}
    model = base if reference["backend"] == "hf" and reference["model"] is None else {}
    if reference["fit"] or is_fitted(reference):
        inputs = outputs_of("synthesize", "public.jsonl", "reference.jsonl") | model | audited
        steps.append(make_step(FIT, config, inputs=inputs, cell=cell, own=own, called=called))
        model = {"fitted": (f"fit@{name}", "model")}
    inputs = outputs_of("synthesize", "calibration.jsonl", "train.jsonl", "reference.jsonl")
    score = replace(SCORE, places=SCORE.places + places(reference))
    own = own | {"base": _only(config["base"], "name", "revision")}
    return [*steps, make_step(score, config, inputs=inputs | model | audited, cell=cell, own=own, called=called)]


def _detect(config: dict[str, Any], name: str, audited: Inputs) -> Step:
    """A detector on both labelled splits; at which threshold its findings count is not its own."""
    detection, place = config["masking"]["detectors"][name], f"masking.detectors.{name}"
    detector, settings = detection["detector"], detection["settings"]
    if detection["target"] is not None and own_threshold(detector, settings) is not None:
        raise InputError(
            "needless-target",
            f"{place}.target: the detector {detector!r} so set says itself what is to be masked; "
            "leave target out, or take an output that leaves the threshold to validation.",
        )
    own = {
        "detection": {"detector": detector, "settings": settings},
        "detectors": named.detectors(detector, settings, f"{place}.settings"),
    }
    stage = replace(DETECT, places=tuple(f"detection.settings.{each}" for each in named.places(detector, settings)))
    inputs = outputs_of("synthesize", "calibration.jsonl", "train.jsonl") | audited
    return make_step(stage, config, inputs=inputs, cell=(name,), own=own, called={"detection": place})


def _masks(config: dict[str, Any], base: Inputs) -> list[Step]:
    """Thresholds, the masks of all conditions, and the redacted text."""
    masking, detections = config["masking"], {}
    for name in masking["detectors"]:
        for split in ("calibration", "train"):
            detections[f"detections/{name}/{split}"] = (f"detect@{name}", f"{split}.parquet")
    scores = {f"scores/{n}": (f"score@{n}", "calibration.parquet") for n in config["references"]}
    thresholds = {name: value for name, value in masking.items() if name not in CONDITIONS}
    inputs = outputs_of("synthesize", "calibration.jsonl") | scores | base
    calibrate = make_step(CALIBRATE, config, inputs=inputs, own={"masking": thresholds})

    training_sets = dict.fromkeys(f"{mask}.parquet" for mask, _ in _conditions(config).values())
    stage = replace(MASK, outputs=MASK.outputs + tuple(Output(name, "restricted") for name in training_sets))
    inputs = outputs_of("synthesize", "train.jsonl", "canaries.jsonl") | base | detections
    inputs |= outputs_of("synthesize", "calibration.jsonl") if detections else {}
    inputs |= {
        "scores": (f"score@{masking['reference']}", "train.parquet"),
        "thresholds": ("calibrate", "calibration.json"),
    }
    own = {"masking": {**masking, "detectors": {n: _placeless(each) for n, each in masking["detectors"].items()}}}
    mask = make_step(stage, config, inputs=inputs, own=own)

    point = surprise_at(config["redact"]["target"] or max(masking["targets"]))
    inputs = outputs_of("synthesize", "train.jsonl") | outputs_of("mask", "masks.parquet")
    return [calibrate, mask, make_step(REDACT, config, inputs=inputs, own={"redact": {"point": point}})]


def _trainings(config: dict[str, Any], seed: int, base: Inputs) -> list[Step]:
    """A model for each condition."""
    steps, mixed = [], bool(config["mixture"])
    for condition, (mask, intervention) in _conditions(config).items():
        inputs = {"training": ("mask", f"{mask}.parquet")} | base
        inputs |= outputs_of("general", "general") if mixed and not _in_base(config) else {}
        train = {**config["train"], "intervention": intervention, "compare": []}
        own = {"seed": seed, "train": train} | _mixed(config)
        stage = _with_mixture(TRAIN) if mixed else TRAIN
        steps.append(make_step(stage, config, inputs=inputs, cell=(condition, str(seed)), own=own))
    return steps


def _measures(config: dict[str, Any], dataset: Any, condition: str, seed: int, base: Inputs) -> list[Step]:
    """What one model, or the base model, gives away, and what it can do."""
    steps, cell, own = [], (condition, str(seed)), {"seed": seed}
    model = base | ({} if condition == BASE else {"model": (f"train@{condition}-{seed}", "model")})
    utility = outputs_of("synthesize", "utility.jsonl")
    if getattr(dataset, "CANARIES", True):
        canaries = outputs_of("synthesize", "canaries.jsonl")
        steps.append(make_step(ATTACK, config, inputs=canaries | model, cell=cell, own=own))
    steps.append(make_step(EVALUATE, config, inputs=utility | model, cell=cell))
    if not config["completions"]["samples"]:
        return steps
    asked = {"completions": _only(config["completions"], *ASKED, "device", "threads")}
    steps.append(make_step(COMPLETE, config, inputs=utility | model, cell=cell, own=own | asked))
    inputs = utility | {"completions": (steps[-1].name, "completions.jsonl")}
    judged = {"completions": _only(config["completions"], *JUDGED)}
    return [*steps, make_step(ASSESS, config, inputs=inputs, cell=cell, own=judged)]


def _conditions(config: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return trainings(Settings(config["masking"]), Settings(config["train"]))


def _in_base(config: dict[str, Any]) -> bool:
    """Whether the base model is what learns the mixture."""
    return bool(config["mixture"]) and config["train"]["method"] == "continue"


def _mixed(config: dict[str, Any]) -> dict[str, Any]:
    """Of a mixture, what a training reads beside its tokens."""
    return {"mixture": _only(config["mixture"], "domain_tokens")} if config["mixture"] else {}


def _with_mixture(stage: Stage) -> Stage:
    """A training that counts out the domain's tokens; those of the general text it reads."""
    return replace(stage, sections=(*stage.sections, "mixture"))


def _placeless(detection: dict[str, Any]) -> dict[str, Any]:
    """A detector as a mask knows it: its files were read before."""
    return {**detection, "settings": named.without_places(detection["detector"], detection["settings"])}


def _only(section: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: section[name] for name in names}
