"""A recipe before it runs: its arithmetic, figures that it has to come to, and one real step on a small random model of
the same class.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError, StageError
from sm_ops.core.registry import did_you_mean
from sm_ops.core.settings import Settings
from sm_ops.training.counting import base_facts, data_facts, evaluation_facts, mixture_facts, schedule_facts
from sm_ops.training.shapes import SMALL, model_facts, model_lines, shape_of, small

Facts = dict[str, Any]

ONCE = {
    "epochs": 1,
    "batch_size": 2,
    "accumulation": 1,
    "warmup_steps": 0,
    "warmup_ratio": None,
    "steps": None,
    "device": "cpu",
    "threads": 1,
    "processes": 1,
}
"""Settings of the trial step, on two rows."""

STDLIB_HOSTS = 1_740
"""Programs of 250 to 900 characters that Python 3.11's standard library offers as hosts (3,320 up to 6,000)."""


def check(config: dict[str, Any]) -> Facts:
    """What a resolved config amounts to; raises `InputError` where it cannot work.

    Sections: `data` (records), `mixture` (tokens), `base` and `schedule` (rows, steps, passes), `evaluation`, `model`
    (class, parameters, positions, bytes), `lora` (layers with and without adapter), `trial` (the step on the small
    model). What cannot be known yet is None. Raises `StageError` where a figure is not what `published` says.
    """
    settings = Settings(config)
    shape = shape_of(settings.base, settings.train)
    data, mixture = data_facts(settings.data), mixture_facts(settings)
    facts: Facts = {
        "name": settings.name,
        "data": data,
        "mixture": mixture,
        "base": base_facts(settings, mixture),
        "schedule": schedule_facts(settings, data, mixture),
        "evaluation": evaluation_facts(settings, data),
        "model": {"name": settings.base.name, "class": None},
        "lora": None,
        "trial": None,
    }
    if shape is not None:
        facts["model"], facts["lora"] = model_facts(settings, shape)
    agree(facts, config["published"])
    facts["published"] = len(config["published"])
    if shape is not None:
        facts["trial"] = _trial(settings.train, shape)
    return facts


def agree(facts: Facts, published: Mapping[str, Any]) -> None:
    """Compare facts with figures by their dotted names; `StageError` for the first that differs or is not known here.

    Raises `InputError` for a name that is no figure's.
    """
    figures = _figures(facts)
    for name, wanted in published.items():
        found = figures.get(name)
        unknown = any(parent in figures for parent in _parents(name))
        if name not in figures and not unknown:
            hint = f"published.{name} names no figure of sm-ops validate --json; {did_you_mean(name, figures)}."
            raise InputError("unknown-figure", hint)
        if found != wanted:
            said = "is not known" if found is None else f"comes to {found}"
            raise StageError("published-differs", f"{name} {said} here, but published.{name} is {wanted}.")


def _figures(facts: Facts, path: str = "") -> Facts:
    """The facts in one level, by dotted names; a section of which nothing is known is None."""
    found: Facts = {}
    for name, value in facts.items():
        dotted = f"{path}.{name}" if path else name
        found |= _figures(value, dotted) if isinstance(value, dict) else {dotted: value}
    return found


def _parents(dotted: str) -> list[str]:
    parts = dotted.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def lacks_hosts(data: Facts) -> bool:
    """Whether the data set needs more host programs than the standard library offers, and the config names none."""
    return (data.get("hosts_needed") or 0) > STDLIB_HOSTS and data["hosts_named"] is None


def describe(facts: Facts) -> list[str]:
    """The facts in plain lines."""
    data, schedule, trial = (facts[section] for section in ("data", "schedule", "trial"))
    lines = [f"{facts['name']}: {schedule['method']}, {schedule['conditions']} conditions x {schedule['seeds']} seeds"]
    if data["records"] is not None:
        lines.append("records: " + ", ".join(f"{split} {count:,}" for split, count in data["records"].items()))
    if others := [f"{name.replace('_', ' ')} {data[name]:,}" for name in _OF_THE_DATA if name in data]:
        lines.append("of these: " + ", ".join(others))
    if data.get("hosts_needed") is not None:
        lines.append(_hosts_sentence(data))
    if (mixture := facts["mixture"]) is not None:
        lines.append(
            f"mixture: {mixture['general_tokens']:,} general + {mixture['domain_tokens']:,} domain tokens = "
            f"{mixture['tokens']:,} in {mixture['rows']:,} rows; {mixture['passes']} passes, "
            f"{mixture['tokens_seen']:,} tokens"
        )
    if (base := facts["base"]) is not None:
        lines.append(f"base: {_steps_sentence(base, '')}")
    about = "" if schedule["exact"] else "about "
    unknown = "known once the data is read"
    lines.append(f"steps: {unknown if schedule['rows'] is None else _steps_sentence(schedule, about)}")
    lines += _evaluation_lines(facts["evaluation"])
    lines += model_lines(facts["model"], facts["lora"])
    if facts["published"]:
        lines.append(f"published: {facts['published']} figures, all as here")
    if trial is not None:
        lines.append(
            f"trial: one step on a random two-layer {trial['class']} with intervention {trial['intervention']} and a "
            f"loss over {trial['kept']} of {trial['supervised']} tokens went well (loss {trial['loss']:.2f})"
        )
    return lines


# ---- one step on a small model -------------------------------------------------------------------------


def _trial(train: Settings, shape: Any) -> Facts:
    """One optimiser step of the recipe with its intervention, on the CPU; some of the tokens are masked."""
    import torch

    from sm_ops.training import interventions, lora, packing, trainer
    from sm_ops.training.masked import Example

    model = small(shape)
    name = type(model).__name__
    if train.method == "lora":
        model = lora.wrap(model, train.lora)
    length = min(train.context, 16)
    ids = np.random.default_rng(0).integers(1, SMALL["vocab_size"], (2, length))
    masks = (np.arange(length) % 4 == 3) & (np.array([[True], [train.intervention != "drop"]]))
    examples = [
        Example(str(number), own, np.where(mask, packing.IGNORED, own), mask)
        for number, (own, mask) in enumerate(zip(ids, masks, strict=True))
    ]
    rows = packing.rows(interventions.prepare(examples, train.intervention), length)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(train.plain() | ONCE)
        result = trainer.fit(model, rows, 0, settings, 0, Path(scratch), intervention=train.intervention)
    if all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True)):
        raise InputError("recipe-does-not-train", f"One step of this recipe changes no weight of a small {name}.")
    return {
        "class": name,
        "intervention": train.intervention,
        "loss": result["train_loss"],
        "kept": packing.learned_tokens(rows),
        "supervised": 2 * (length - 1),
    }


# ---- words ---------------------------------------------------------------------------------------------

_OF_THE_DATA = ("canaries", "uses_of_a_value", "bundles", "users", "tasks", "style_cases")


def _steps_sentence(schedule: Facts, about: str) -> str:
    passes = f"{schedule['epochs']} passes x {about}{schedule['steps_per_epoch']:,}"
    if schedule["rounds"] > 1:
        passes = f"{schedule['rounds']} rounds x {passes}"
    stopped = schedule["steps_per_round"] < schedule["epochs"] * schedule["steps_per_epoch"]
    return (
        f"{about}{schedule['steps']:,} {'of' if stopped else '='} {passes} "
        f"({about}{schedule['rows']:,} rows of up to {schedule['context']:,} tokens, {schedule['batch']} a step), "
        f"warm-up {schedule['warmup_steps']:,}{_too_long(schedule)}"
    )


def _too_long(schedule: Facts) -> str:
    """What to say of an estimated training, which is not refused as one of known length is."""
    if schedule["warmup_steps"] < schedule["steps_per_round"]:
        return ""
    return ", which would not end before the training does: lower warmup_steps or warmup_ratio"


def _evaluation_lines(evaluation: Facts) -> list[str]:
    attack, asked, records = (evaluation[name] for name in ("attack", "completions", "nll_records"))
    lines = []
    if attack is not None:
        most = f"budgets {', '.join(map(str, attack['budgets']))}"
        lines.append(f"extraction: {attack['samples']} samples a value, {most}, prefix rounded with {attack['reveal']}")
    count = "all records" if records is None else f"{records:,} records"
    lines.append(f"utility: negative log likelihood of {count}")
    if asked is not None:
        prompts = "all" if asked["prompts"] is None else f"{asked['prompts']:,}"
        effort = f", reasoning effort {asked['reasoning_effort']}" if asked["reasoning_effort"] else ""
        run = f"run for at most {asked['seconds']} s each" if asked["execute"] else "not run"
        lines.append(
            f"completions: {prompts} prompts x {asked['samples']} samples of up to {asked['max_tokens']:,} tokens, the "
            f"first {asked['k']} count; temperature {asked['temperature']:g}, top-p {asked['top_p']:g}{effort}; {run}"
        )
    return lines


def _hosts_sentence(data: Facts) -> str:
    sentence = f"hosts: {data['hosts_needed']:,} programs are needed"
    if lacks_hosts(data):
        return f"{sentence}, more than the standard library offers; name a folder of code with data.hosts=PATH"
    return sentence
