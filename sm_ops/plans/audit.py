"""The leakage audit's steps: a model for each defence and seed, and every attack on each of them and on the base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.attacks.public import settings_on_public
from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.stage import Step
from sm_ops.detectors.named import detectors
from sm_ops.masking.conditions import BASE
from sm_ops.plans.steps import make_step, outputs_of
from sm_ops.stages import (
    AUDIT_ATTACK,
    AUDIT_DATA,
    AUDIT_MEASURE,
    AUDIT_PREPARE,
    AUDIT_SHADOW,
    AUDIT_TRAIN,
    BASE_MODEL,
    EVALUATE,
)

LATER = ("data.path",)
"""Corpora that are not to be fetched by a program: a config of one is read before it is there."""
OWN_TUNING = ("epochs", "batch_size", "learning_rate")
"""What `private` may set for itself; null is as in `train`."""


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads."""
    config = located({**config, "data": _present(config["data"])}, home_folder())
    taggers = config["tagger"].split("+")
    tagger = {
        "tagger": {name: {} for name in taggers},
        "detectors": {each: {} for name in taggers for each in detectors(name, {})},
    }
    steps = [make_step(AUDIT_DATA, config, inputs={}, own=tagger)]
    base = {}
    if config["base"]["name"] is None:
        steps.append(make_step(BASE_MODEL, config, inputs=outputs_of("audit_data", "public.jsonl", "reference.jsonl")))
        base = {"base": ("base", "model")}
    labelled = outputs_of("audit_data", "train.jsonl", "validation.jsonl")
    for name, defence in config["defences"].items():
        steps.append(make_step(AUDIT_PREPARE, config, inputs=labelled | base, cell=(name,), own={"defence": defence}))

    pool = outputs_of("audit_data", "train.jsonl", "others.jsonl")
    shadows = {}
    for number in range(config["shadows"]["count"]):
        own = {"number": number}
        steps.append(make_step(AUDIT_SHADOW, config, inputs=pool | base, cell=(str(number),), own=own))
        for output in ("model", "seen.json"):
            shadows[f"shadows/{number}/{Path(output).stem}"] = (f"audit_shadow@{number}", output)

    for seed in config["seeds"]:
        models: dict[str, dict[str, tuple[str, str]]] = {BASE: {}}
        for name, defence in config["defences"].items():
            inputs = outputs_of(f"audit_prepare@{name}", "training.parquet", "validation.parquet", "groups.json")
            own = {"seed": seed, **_tuning(config, defence["private"])}
            steps.append(make_step(AUDIT_TRAIN, config, inputs=inputs | base, cell=(name, str(seed)), own=own))
            models[name] = {"model": (f"audit_train@{name}-{seed}", "model")}
        for cell, model in models.items():
            steps += _attacks(config, cell, seed, pool | base | model, shadows, tagger)
            held_out = {"utility": ("audit_data", "validation.jsonl")}
            steps.append(make_step(EVALUATE, config, inputs=held_out | base | model, cell=(cell, str(seed))))
    return steps


def _attacks(
    config: dict[str, Any],
    cell: str,
    seed: int,
    inputs: dict[str, tuple[str, str]],
    shadows: dict[str, tuple[str, str]],
    tagger: dict[str, Any],
) -> list[Step]:
    """Every attack on one model, and what they amount to beside the base model's."""
    steps, rows = [], {}
    for name, settings in config["attacks"].items():
        chosen = settings_on_public(settings) if cell == BASE else settings
        own = {"seed": seed, "attack": {name: chosen}, "filling": config["filling"], **tagger}
        more = shadows if name == "membership" else {}
        steps.append(make_step(AUDIT_ATTACK, config, inputs=inputs | more, cell=(name, cell, str(seed)), own=own))
        rows[f"rows/{name}"] = (steps[-1].name, "rows.json")
        if cell != BASE:
            rows[f"baseline/{name}"] = (f"audit_attack@{name}-{BASE}-{seed}", "rows.json")
    own = {"attacks": config["attacks"]}
    return [*steps, make_step(AUDIT_MEASURE, config, inputs=rows, cell=(cell, str(seed)), own=own)]


def _tuning(config: dict[str, Any], private: bool) -> dict[str, Any]:
    """Sections `train` and `private` of one training; `private` is null where it is not."""
    if not private:
        return {"train": config["train"], "private": None}
    own = {name: config["private"][name] for name in OWN_TUNING if config["private"][name] is not None}
    rest = {name: value for name, value in config["private"].items() if name not in OWN_TUNING}
    return {"train": config["train"] | own | {"patience": None}, "private": rest}


def _present(data: dict[str, Any]) -> dict[str, Any]:
    """The section with generated documents in place of what is absent, where it allows that."""
    if data["public"] is not None and not Path(data["public"]).exists():
        data = {**data, "public": None}
    if data["absent"] == "court" and data["path"] is not None and not Path(data["path"]).exists():
        data = {**data, "corpus": "court", "path": None}
    return data
