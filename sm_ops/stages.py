"""The list of stages: read this file first.

`STAGES` declares each stage once; `plan` turns a resolved config into the steps of a run. A person
(`sm-ops stage NAME`), DVC (`dvc.yaml`) and Prefect (`flows/`) run these very steps.

    synthesize -> audit -> base -> fit@REFERENCE -> score@REFERENCE -> calibrate -> mask
               -> train@CONDITION-SEED -> attack@CONDITION-SEED, evaluate@CONDITION-SEED
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Output, Stage, Step
from sm_ops.masking.conditions import BASE, trainings

SYNTHESIZE = Stage(
    name="synthesize",
    version=1,
    function="sm_ops.steps.synthesize:run",
    sections=("data",),
    places=(
        "data.hosts",
        "data.own.train",
        "data.own.calibration",
        "data.own.utility",
        "data.own.reference",
    ),
    members=(("data.dataset", "dataset"),),
    outputs=tuple(
        Output(f"{name}.jsonl", "restricted")
        for name in ("calibration", "train", "utility", "reference", "public", "canaries")
    ),
    key="records_train",
)
AUDIT = Stage(
    name="audit",
    version=1,
    function="sm_ops.steps.audit:run",
    outputs=(Output("findings.json", "internal"),),
    key="findings",
)
BASE_MODEL = Stage(
    name="base",
    version=1,
    function="sm_ops.steps.base:run",
    sections=("base",),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="train_loss",
)
FIT = Stage(
    name="fit",
    version=1,
    function="sm_ops.steps.fit:run",
    sections=("reference", "base"),
    places=("reference.fit", "reference.model", "base.name"),
    members=(("reference.backend", "reference"),),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="records",
)
SCORE = Stage(
    name="score",
    version=1,
    function="sm_ops.steps.score:run",
    sections=("reference", "base"),
    places=("reference.model", "base.name"),
    members=(("reference.backend", "reference"),),
    outputs=(Output("calibration.parquet", "restricted"), Output("train.parquet", "restricted")),
    numeric=True,
    key="tokens",
)
CALIBRATE = Stage(
    name="calibrate",
    version=1,
    function="sm_ops.steps.calibrate:run",
    sections=("masking", "base"),
    places=("base.name",),
    members=(("masking.select", "rule"), ("masking.windows", "window")),
    outputs=(Output("calibration.json", "internal"),),
    numeric=True,
    key="auroc",
)
MASK = Stage(
    name="mask",
    version=1,
    function="sm_ops.steps.mask:run",
    sections=("masking", "base"),
    places=("base.name",),
    members=(("masking.select", "rule"), ("masking.windows", "window"), ("masking.baselines", "baseline")),
    outputs=(
        Output("masks.parquet", "internal"),
        Output("coverage.json", "internal"),
        Output("application.json", "internal"),
        Output("bound.json", "internal"),
        Output("strip.json", "internal"),
    ),
    numeric=True,
    key="conditions",
)
TRAIN = Stage(
    name="train",
    version=1,
    function="sm_ops.steps.train:run",
    sections=("train", "base"),
    places=("base.name",),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="train_loss",
)
ATTACK = Stage(
    name="attack",
    version=1,
    function="sm_ops.steps.attack:run",
    sections=("attack", "base"),
    places=("base.name",),
    members=(("attack.name", "attack"),),
    outputs=(Output("outcomes.json", "internal"),),
    numeric=True,
    key="extracted",
)
EVALUATE = Stage(
    name="evaluate",
    version=1,
    function="sm_ops.steps.evaluate:run",
    sections=("evaluate", "base"),
    places=("base.name",),
    outputs=(Output("utility.json", "internal"),),
    numeric=True,
    key="nll",
)
STAGES = (SYNTHESIZE, AUDIT, BASE_MODEL, FIT, SCORE, CALIBRATE, MASK, TRAIN, ATTACK, EVALUATE)

def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads. `config` is what `core.config.resolve` returns."""
    config = located(config, home_folder())
    named = config["base"]["name"] is not None
    base = {} if named else {"base": ("base", "model")}
    steps = [
        _step(SYNTHESIZE, config, inputs={}),
        _step(AUDIT, config, inputs=_from("synthesize", *(output.name for output in SYNTHESIZE.outputs))),
    ]
    audited = {"audit": ("audit", "findings.json")}
    if not named:
        inputs = _from("synthesize", "public.jsonl", "reference.jsonl")
        steps.append(_step(BASE_MODEL, config, inputs=inputs | audited))

    for name, reference in config["references"].items():
        own = {"reference": reference}
        model = base if reference["backend"] == "hf" and reference["model"] is None else {}
        if reference["fit"] or (reference["backend"] == "ngram" and reference["model"] is None):
            inputs = _from("synthesize", "public.jsonl", "reference.jsonl") | model | audited
            steps.append(_step(FIT, config, inputs=inputs, cell=(name,), own=own))
            model = {"fitted": (f"fit@{name}", "model")}
        inputs = _from("synthesize", "calibration.jsonl", "train.jsonl", "reference.jsonl")
        files = ("reference.violating",) if reference["backend"] == "file" else ()  # elsewhere it is a prompt
        score = replace(SCORE, places=SCORE.places + files)
        steps.append(_step(score, config, inputs=inputs | model | audited, cell=(name,), own=own))

    scores = {f"scores/{n}": (f"score@{n}", "calibration.parquet") for n in config["references"]}
    inputs = _from("synthesize", "calibration.jsonl") | scores | base
    steps.append(_step(CALIBRATE, config, inputs=inputs))
    conditions = trainings(Settings(config["masking"]), Settings(config["train"]))
    inputs = _from("synthesize", "train.jsonl", "canaries.jsonl") | base
    inputs |= {
        "scores": (f"score@{config['masking']['reference']}", "train.parquet"),
        "calibration": ("calibrate", "calibration.json"),
    }
    masks = dict.fromkeys(mask for mask, _ in conditions.values())
    training_sets = tuple(Output(f"{mask}.parquet", "restricted") for mask in masks)
    steps.append(_step(replace(MASK, outputs=MASK.outputs + training_sets), config, inputs=inputs))

    canaries = _from("synthesize", "canaries.jsonl")
    utility = _from("synthesize", "utility.jsonl")
    for seed in config["seeds"]:
        own = {"seed": seed}
        for condition, (mask, intervention) in conditions.items():
            cell = (condition, str(seed))
            inputs = {"training": ("mask", f"{mask}.parquet")} | base
            train = {**config["train"], "intervention": intervention, "compare": []}
            steps.append(_step(TRAIN, config, inputs=inputs, cell=cell, own=own | {"train": train}))
        for condition in (BASE, *conditions):
            cell = (condition, str(seed))
            model = {} if condition == BASE else {"model": (f"train@{condition}-{seed}", "model")}
            steps.append(_step(ATTACK, config, inputs=canaries | base | model, cell=cell, own=own))
            steps.append(_step(EVALUATE, config, inputs=utility | base | model, cell=cell))
    return steps


def absent_places(config: dict[str, Any]) -> list[str]:
    """The data's settings that name a file or folder which is not there."""
    named = {dotted: Settings(config).at(dotted) for dotted in SYNTHESIZE.places}
    return [dotted for dotted, place in named.items() if place is not None and not Path(place).exists()]


def _step(
    stage: Stage,
    config: dict[str, Any],
    inputs: dict[str, tuple[str, str]],
    cell: tuple[str, ...] = (),
    own: dict[str, Any] | None = None,
) -> Step:
    """A step with the sections its stage declares; `own` holds what belongs to its cell of the matrix."""
    own = own or {}
    settings = {section: config[section] for section in stage.sections if section not in own} | own
    name = f"{stage.name}@{'-'.join(cell)}" if cell else stage.name
    return Step(name, stage, settings, inputs)


def _from(step: str, *outputs: str) -> dict[str, tuple[str, str]]:
    """Inputs named like the outputs they come from, without the ending."""
    return {PurePath(output).stem: (step, output) for output in outputs}
